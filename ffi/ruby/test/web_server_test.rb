# frozen_string_literal: true

require_relative "helper"

# A worker in the process of a web server: a signal stops both.
class WebServerTest < MillpondTest
  WORK = <<~'RUBY'
    require "millpond"
    $stdout.sync = true
    store = Millpond.connect("memory:").tasks("shop")
    3.times { |number| store.insert("mails", value: number) }
    $mails = store.worker("mails")
    HANDLER = lambda do |job|
      warn "begin #{job.task.value}"
      sleep 0.01 until stopped?
      puts "end"
    end
    APP = ->(_env) { [200, {}, []] }
  RUBY

  # The program has the main thread, and the server another one.
  BESIDE = WORK + <<~'RUBY'
    require "puma"
    require "puma/configuration"
    require "puma/launcher"
    launcher = Puma::Launcher.new(Puma::Configuration.new { |config| config.bind("tcp://127.0.0.1:0") && config.app(APP) })
    server = Thread.new { launcher.run }
    Object.define_method(:stopped?) { !server.alive? }
    sleep 0.01 until launcher.connected_ports.any? # its traps are set
    begin
      puts "done #{$mails.run(&HANDLER).done}"
    rescue SignalException => error
      puts "raised #{error.message}"
    ensure
      server.join
    end
  RUBY

  # Puma without `workers` has the main thread.
  INSIDE = WORK + <<~'RUBY'
    stopped = false
    Object.define_method(:stopped?) { stopped }
    thread = Thread.new do
      # A signal that finds Puma in the middle of a line that it writes ends it with a ThreadError.
      sleep 0.01 until Thread.main.backtrace.first.include?("join")
      puts "done #{$mails.run(&HANDLER).done}"
    end
    at_exit do
      $mails.stop(within: 25)
      stopped = true
      thread.join
    end
    run APP
  RUBY

  # What a process prints that gets a SIGTERM when the server runs, in the middle of the first job.
  def stop(*command, **files)
    Dir.mktmpdir do |folder|
      files.each { |name, text| File.write(File.join(folder, name.to_s.tr("_", ".")), text) }
      env = { "MILLPOND_LIBRARY" => LIBRARY_PATH, "RUBYLIB" => File.join(GEM_ROOT, "lib") }
      IO.popen(env, command, chdir: folder, err: %i[child out]) do |puma|
        lines = []
        Timeout.timeout(PATIENCE) { read_and_stop(puma, lines) }
        lines
      rescue Timeout::Error
        flunk "it does not end\n#{lines.join("\n")}"
      ensure
        Process.kill(:KILL, puma.pid)
      end
    end
  end

  def read_and_stop(puma, lines)
    puma.each_line do |line|
      lines << line.chomp
      begun = lines.grep(/^begin|Use Ctrl-C/).size
      Process.kill(:TERM, puma.pid) if begun == 2 && line.match?(/^begin|Use Ctrl-C/)
    end
  end

  def test_a_worker_on_the_main_thread_stops_beside_puma
    lines = stop(RbConfig.ruby, "main.rb", main_rb: BESIDE)
    assert_equal 1, lines.count("end"), lines.join("\n")
    assert_includes lines, "raised SIGTERM" # as Puma says it to the main thread
    assert_includes lines, "- Goodbye!"
  end

  def test_a_worker_in_a_thread_leaves_signals_to_puma
    lines = stop(*%w[puma --bind tcp://127.0.0.1:0], config_ru: INSIDE)
    assert_includes lines, "- Gracefully stopping, waiting for requests to finish", lines.join("\n")
    assert_equal %w[end], lines.grep(/^end/)
    assert_includes lines, "done 1"
  end
end
