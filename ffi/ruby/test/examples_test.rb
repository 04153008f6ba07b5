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
    printed = output_of(example("shuffle_consumer"), url)
    assert_includes printed, "18 pages, 0 given up, 0 still with others"
    assert_equal 6, printed.scan("for bob").size
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
    assert_match(/\Asending to dee\n.*eve.*6 mails archived/m, output_of(example("tasks_worker"), url))
    2.times { assert_match(/[56] mails to send/, output_of(example("tasks_producer"), url)) }
    # Two at the same time work on them, and the last to end archives what is left.
    archived = Array.new(2) { Thread.new { output_of(example("tasks_worker"), url) } }.sum do |worker|
      Integer(worker.value[/(\d+) mails archived/, 1])
    end
    assert_equal 11, archived
    assert_includes output_of(example("tasks"), url), "after 2 attempts"
  end

  # There is one as soon as the README shows Ruby.
  def test_program_in_the_readme
    File.read(File.join(ROOT, "README.md")).scan(/```ruby\n(.*?)```/m) do |(program)|
      assert_equal "index a.txt\nindex b.txt\n", output_of("-e", program)
    end
  end
end
