# frozen_string_literal: true

require "millpond/rack"
require "net/http"
require_relative "helper"

# The middleware enlists when a response has been sent, however the server tells of that.
class RackTest < MillpondTest
  # What happens, in order.
  def events
    @events ||= []
  end

  # The middleware in front of an application that is this block.
  def middleware(budget: nil, &application)
    recruiter = connect("memory:").recruiter(name_of_queue)
    recruiter.set_duty_max(1)
    recruiter.install("job", share: 1, budget: 2) { |slice| events << slice.budget && 1 }
    Millpond::Rack::AfterResponse.new(application, recruiter, budget: budget)
  end

  # A body with these methods, which says when it is closed.
  def body_of(*parts, **methods)
    happened = events
    body = parts.dup
    { close: -> { happened << :closed }, **methods }.each { |name, call| body.define_singleton_method(name, &call) }
    body
  end

  # By what the server tells of it, and with which arguments.
  { "rack.response_finished" => [{}, 200, {}, nil], "rack.after_reply" => [] }.each do |key, arguments|
    define_method(:"test_#{key.tr('.', '_')}") do
      { nil => 2.0, 0.5 => 0.5 }.each do |budget, expected|
        events.clear
        response = [200, { "a" => "b" }, body_of("hi")]
        application = middleware(budget: budget) { |_env| response }
        env = { key => [] }
        assert_same response, application.call(env)
        assert_empty events
        env[key].each { |call| call.call(*arguments) }
        assert_equal [expected], events
      end
    end
  end

  # As Rack says, one of them is enough.
  def test_a_server_that_tells_of_it_in_both_ways
    env = { "rack.response_finished" => [], "rack.after_reply" => [] }
    middleware { |_env| [204, {}, []] }.call(env)
    assert_equal [1, 0], env.values.map(&:size)
  end

  def test_an_application_that_raises
    env = { "rack.response_finished" => [] }
    application = middleware { |_env| raise IndexError }
    assert_raises(IndexError) { application.call(env) }
    env["rack.response_finished"].each { |call| call.call(env, 500, {}, IndexError.new) }
    assert_raises(IndexError) { application.call({}) }
    assert_equal [2.0], events
  end

  def test_a_body_that_is_closed
    application = middleware(budget: 1) { |_env| [200, { "a" => "b" }, body_of("hi", "ho")] }
    status, headers, body = application.call({})
    assert_equal [200, { "a" => "b" }], [status, headers]
    body.each { |part| events << part }
    2.times { body.close }
    assert_equal ["hi", "ho", :closed, 1.0, :closed], events
  end

  def test_a_body_without_a_close
    body = middleware { |_env| [200, {}, ["hi"]] }.call({}).last
    body.close
    assert_equal [2.0], events
  end

  def test_a_close_that_raises
    body = middleware { |_env| [200, {}, body_of(close: -> { raise IOError })] }.call({}).last
    assert_raises(IOError) { body.close }
    assert_equal [2.0], events
  end

  # A body with `to_ary` may be closed before its response is sent.
  def test_a_body_is_what_it_was
    file = middleware { |_env| [200, {}, body_of(to_path: -> { "/a" }, size: -> { 7 })] }.call({}).last
    assert_equal ["/a", 7], [file.to_path, file.size]
    refute_respond_to file, :call
    %i[to_ary to_str].each do |name|
      refute_respond_to file, name
      assert_raises(NoMethodError) { file.public_send(name) }
    end
    assert_equal [[file]], [[file]].map { |(body)| [body] }
    streaming = middleware { |_env| [200, {}, ->(stream, last: 0) { stream << last }] }.call({}).last
    assert_respond_to streaming, :call
    refute_respond_to streaming, :each
    assert_equal [3], streaming.call([], last: 3)
    assert_raises(NoMethodError) { streaming.each }
  end

  def test_what_ends_the_program_passes
    recruiter = connect("memory:").recruiter(name_of_queue)
    recruiter.install("job", share: 1) { exit 3 }
    env = { "rack.after_reply" => [] }
    Millpond::Rack::AfterResponse.new(->(_env) { [204, {}, []] }, recruiter).call(env)
    assert_raises(SystemExit) { env["rack.after_reply"].each(&:call) }
  end

  def test_arguments
    recruiter = connect("memory:").recruiter("x")
    { [7] => TypeError, [recruiter, { budget: "1" }] => TypeError,
      [recruiter, { budget: -1 }] => Millpond::InvalidArgumentError }.each do |(given, options), kind|
      assert_raises(kind) { Millpond::Rack::AfterResponse.new(->(_env) {}, given, **options.to_h) }
    end
  end

  PUMA = <<~'RUBY'
    require "millpond/rack"
    $stdout.sync = true
    site = Millpond.connect("memory:").recruiter("site")
    site.install("job", share: 1) { puts "slice" }
    bind "tcp://127.0.0.1:0"
    app Millpond::Rack::AfterResponse.new(->(_env) { [200, { "Content-Length" => "2" }, ["hi"]] }, site, budget: 0.02)
  RUBY

  def test_puma
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "puma.rb"), PUMA)
      env = { "MILLPOND_LIBRARY" => LIBRARY_PATH, "RUBYLIB" => File.join(GEM_ROOT, "lib") }
      lines = IO.popen(env, %w[puma -C puma.rb], chdir: folder, err: %i[child out]) do |puma|
        puma.each_line.with_object([]) do |line, all|
          all << line
          port = line[%r{Listening on http://127.0.0.1:(\d+)}, 1]
          assert_equal "hi", Net::HTTP.get(URI("http://127.0.0.1:#{port}/")) if port
          Process.kill(:TERM, puma.pid) if line == "slice\n"
        end
      end
      assert_equal 1, lines.count("slice\n"), lines.join
    end
  end
end
