# frozen_string_literal: true

require_relative "helper"

# The project's examples and the program in its README do what they say.
class ExamplesTest < MillpondTest
  EXAMPLES = File.join(ROOT, "examples", "ruby")

  def output_of(*arguments)
    output, status = run_ruby(*arguments, seconds: 60)
    assert_predicate status, :success?, output
    output
  end

  def example(name)
    File.join(EXAMPLES, "#{name}.rb")
  end

  Dir[File.join(EXAMPLES, "*.rb")].sort.each do |file|
    define_method(:"test_#{File.basename(file, '.rb')}_alone") { refute_empty output_of(file) }
  end

  def test_producer_and_consumer_share_a_server
    url = own_server.url
    2.times do
      assert_includes output_of(example("producer"), url), "4 documents wait"
      assert_includes output_of(example("consumer"), url), "busy.txt"
    end
  end

  def test_shuffle_producer_and_consumer_share_a_server
    url = own_server.url
    2.times { assert_includes output_of(example("shuffle_producer"), url), "9 messages written" }
    printed = work("shuffle_consumer", 1, url, 18)
    assert_equal 6, printed.scan("for bob").size
    assert_match(/\n0 still with others\n\z/, printed)
    assert_includes output_of(example("shuffle"), url), "taken over"
  end

  def test_shuffle_after_a_run_that_was_cut_off
    url = own_server.url
    queue = connect(url).shuffle_queue("{examples/shuffle}", streams: 64, streams_per_shard: 4)
    queue.write_many(numbered(1_100))
    queue.consumer("workers", "worker-1").read_many(1_050)
    2.times { assert_includes output_of(example("shuffle"), url), "taken over" }
    assert_equal [0, 0], [queue.len, queue.pending_count("workers")]
  end

  def test_shuffle_producers_at_the_same_time
    url = own_server.url
    other = connect(url).shuffle_queue("{examples/jobs}", track_keys: :queue)
    # Each deletes its own, whatever happens to those of others.
    busy = Thread.new { loop { other.delete_tracked("ann/4") } }
    producers = Array.new(3) { Thread.new { output_of(example("shuffle_producer"), url) } }
    producers.each { |producer| assert_includes producer.value, "9 messages written" }
    assert_equal 27, other.backlog
  ensure
    busy&.kill&.join
  end

  def test_tasks_producer_and_worker_share_a_server
    url = own_server.url
    assert_includes output_of(example("tasks_producer"), url), "6 mails to send"
    printed = work("tasks_worker", 1, url, 6)
    # Four threads print them, in any order.
    assert_equal %w[all ann bob cy dee eve], printed.scan(/^sending to (\w+)$/).flatten.sort
    assert_match(/^6 mails archived\n\z/, printed)
    # One mail is sent once, however often the producer runs.
    2.times { assert_includes output_of(example("tasks_producer"), url), "5 mails to send" }
    # Two at the same time work on them, and the last to end archives what is left.
    assert_equal 10, work("tasks_worker", 2, url, 10).scan(/^(\d+) mails archived/).flatten.sum(&:to_i)
    assert_includes output_of(example("tasks"), url), "after 2 attempts"
  end

  def test_events_producer_and_worker_share_a_server
    url = own_server.url
    assert_includes output_of(example("events"), url), "attempt 2"
    assert_includes output_of(example("events_producer"), url), "9 webhooks to deliver"
    printed = work("events_worker", 1, url, 8)
    assert_equal ["bob: paid", "bob: packed", "bob: sent"], printed.scan(/bob: \w+$/)
    assert_match(/^1 webhooks could not be delivered\n\z/, printed)
  end

  def test_a_nightly_job_is_done_once
    nights = work("events_nightly", 2, own_server.url, 5, "1").scan(/^clean up for (.*)$/).flatten
    assert_operator nights.size, :>=, 3
    assert_equal nights.uniq, nights
  end

  # What workers print, which are stopped when all of them together have printed a line of each job.
  def work(name, workers, url, jobs, *arguments)
    command = [{ "MILLPOND_LIBRARY" => LIBRARY_PATH }, RbConfig.ruby, "-I", File.join(GEM_ROOT, "lib")]
    processes = Array.new(workers) { IO.popen([*command, example(name), url, *arguments]) }
    lines = Queue.new
    printed = []
    readers = processes.map { |process| Thread.new { process.each_line { |line| lines << line } } }
    within(60, "a line of each job", printed) { jobs.times { printed << lines.pop } }
    # Before that the signal ends a worker that starts, or Ruby's own start loses it.
    within(60, "all workers at work", printed) { sleep 0.01 until processes.all? { |process| at_work?(process.pid) } }
    processes.each { |process| Process.kill(:TERM, process.pid) }
    within(60, "the end of all workers", printed) { readers.each(&:join) }
    (printed + Array.new(lines.size) { lines.pop }).join
  ensure
    # Closing waits for one that does not end.
    readers&.zip(processes) { |reader, process| Process.kill(:KILL, process.pid) if reader.alive? }
    readers&.each(&:join)
    processes&.each(&:close)
  end

  def within(seconds, what, printed, &work)
    Timeout.timeout(seconds, &work)
  rescue Timeout::Error
    flunk "#{what}: not within #{seconds} s; printed until then: #{printed.inspect}"
  end

  # Whether it has connected, which is after it has handlers of signals.
  def at_work?(pid)
    Dir.glob("/proc/#{pid}/fd/*").any? do |file|
      File.basename(file).to_i > 2 && File.readlink(file).start_with?("socket:")
    rescue Errno::ENOENT
      false # closed meanwhile
    end
  end

  # There is one as soon as the README shows Ruby.
  def test_program_in_the_readme
    File.read(File.join(ROOT, "README.md")).scan(/```ruby\n(.*?)```/m) do |(program)|
      assert_equal "index a.txt\nindex b.txt\n", output_of("-e", program)
    end
  end
end
