# frozen_string_literal: true

require_relative "helper"
require_relative "scheduler"

# Queue trackers, on every backend: their ids, and what the blocks of scans and prunes get, return and raise.
class QueueTrackerTest < MillpondTest
  INVALID = Millpond::InvalidArgumentError
  # Much longer than any test takes.
  LONG = 3_600

  def tracker_on(url, name = name_of_queue, **options)
    connect(url, **options).queue_tracker(name)
  end

  def refused(message, kind = INVALID, &call)
    assert_match message, assert_raises(kind, &call).message
  end

  on_every_backend :ids_are_added_and_known do |url|
    tracker = tracker_on(url)
    assert_equal [name_of_queue, 0, false], [tracker.name, tracker.len, tracker.queued?("ann")]
    assert_nil tracker.add("ann")
    assert_nil tracker.add(%w[bob ann])
    assert_nil tracker.add(Set["cy", "bob"])
    assert_nil tracker.add(%w[dee].each.lazy)
    assert_equal [true, false, true], tracker.are_queued?(%w[ann eve dee])
    assert_equal [[true], [false]], [tracker.are_queued?("cy"), tracker.are_queued?(%w[eve].each)]
    assert_equal [true, 4], [tracker.queued?("bob"), tracker.len]
    assert_equal [4, 0, false], [tracker.clear, tracker.clear, tracker.queued?("ann")]
  end

  on_every_backend :ids_in_pages do |url|
    tracker = tracker_on(url)
    assert_equal [], tracker.ids
    tracker.add(%w[b a])
    tracker.add("c")
    first = tracker.ids(limit: 1)
    assert_equal [%w[a b], 1], [first.map(&:id), first.map(&:stamp).uniq.size]
    rest = tracker.ids(after: first.last.stamp)
    assert_equal ["c"], rest.map(&:id)
    assert_operator rest[0].stamp, :>, first.last.stamp
    assert_equal [[], []], [rest[0].stamp, (1 << 64) - 1].map { |after| tracker.ids(after: after, limit: 1_000) }
    assert [first[0], first[0].id].all?(&:frozen?)
  end

  on_every_backend :a_scan_goes_on_where_the_last_one_ended do |url|
    tracker = tracker_on(url)
    assert_equal [0, 0, nil, nil], tracker.stats.to_a
    table = [[1, "ann"], [3, nil], [4, "bob"], [6, ""], [7, "ann"]]
    seen = []
    scan = lambda do |round_min|
      tracker.scan(limit: 2, round_min: round_min) do |after, limit|
        seen << [after, limit]
        table.select { |number, _| number > after.to_i }.first(limit)
      end
    end
    assert_equal [[2, 1, true], [2, 1, true], [1, 0, false]], Array.new(3) { scan.call(LONG).to_a }
    assert_equal [[nil, 2], ["3", 2], ["6", 2]], seen
    assert_equal [2, 1, tracker.ids.first.stamp, nil], tracker.stats.to_a
    # A second round, which is over before the next may begin: it waits for rows that are new.
    assert_equal [true, true, false], Array.new(3) { scan.call(LONG).more }
    table << [9, "cy"]
    assert_equal [[1, 1, false], [0, 0, false]], Array.new(2) { scan.call(LONG).to_a }
    assert_equal [1, "9"], tracker.stats.to_a.values_at(1, 3)
    scanned = scan.call(0)
    assert_equal [[0, 0, false], 2, nil], [scanned.to_a, *tracker.stats.to_a.values_at(1, 3)]
    assert [scanned, tracker.stats].all?(&:frozen?)
  end

  on_every_backend :rows_are_texts_or_numbers do |url|
    tracker = tracker_on(url, encoding: Encoding::BINARY)
    pages = [[[1 << 70, "a"]], [["x/1", "b"]], [["ä\n", "c"]].each.lazy, { -5 => "d" }, [["y" * 1_024, "e" * 512]]]
    seen = []
    pages.each do |page|
      scanned = tracker.scan(limit: 1) { |after, _| seen << after && page }
      assert_equal [1, 1, true], scanned.to_a
    end
    assert_equal [nil, (1 << 70).to_s, "x/1", "ä\n", "-5"], seen
    assert_equal "y" * 1_024, tracker.stats.row
    many = Array.new(1_000) { |number| [number, "ä#{number}"] }
    assert_equal [1_000, 1_000, true], tracker.scan(limit: 1_000) { many }.to_a
    assert_equal [true, 1_005], [tracker.queued?("ä999".b), tracker.len]
  end

  on_every_backend :a_prune_removes_what_its_block_returns do |url|
    tracker = tracker_on(url)
    tracker.add(%w[b a])
    tracker.add("c")
    seen = []
    prune = ->(done, limit) { tracker.prune(limit: limit) { |ids| seen << ids && done } }
    assert_equal [[2, 1], [2, 0]], [prune.call(["a"], 2).to_a, prune.call([], 25).to_a]
    assert_equal [%w[a b], %w[c b]], seen
    assert_equal [false, true, true], tracker.are_queued?(%w[a b c])
    assert_equal [[2, 1], [1, 1]], [prune.call(Set["b"], 25).to_a, prune.call(["c".b].each.lazy, 25).to_a]
    nothing = tracker.prune { flunk }
    assert_equal [[0, 0], true], [nothing.to_a, nothing.frozen?]
    # The list is the block's own, and may change.
    tracker.add(%w[a b c])
    assert_equal [3, 2], tracker.prune { |ids| ids.delete_if { |id| id == "b" } }.to_a
    assert_raises(FrozenError) { tracker.prune { |ids| ids.each(&:upcase!) } }
    assert_equal [1, 1], tracker.prune(&:itself).to_a
  end

  on_every_backend :the_halves_of_a_scan_and_of_a_prune do |url|
    tracker = tracker_on(url)
    assert_equal [0, 0, nil, nil], tracker.begin_scan.to_a
    # The second of the same page adds nothing.
    scanned = Array.new(2) { tracker.advance("", %w[1 2], ["ann", ""], limit: 2).to_a }
    assert_equal [[2, 1, true], [2, 0, true]], scanned
    assert_equal "2", tracker.begin_scan(limit: 1, round_min: LONG).row
    assert_equal [0, 0, true], tracker.advance("", %w[9].each, Set["bob"]).to_a
    assert_equal [0, 0, false], tracker.advance("2", [], [], round_min: 0).to_a
    sample = tracker.sample
    assert_equal [["ann"], tracker.ids.first.stamp], sample.to_a
    tracker.add("bob")
    # A single one, and the sample before it has no say any more.
    again = tracker.sample(limit: 1_000)
    assert_equal ["ann"], again.ids
    assert_equal [1, 0], tracker.remove("ann", sample.ids, sample.stamp).to_a
    assert_equal [1, 1], tracker.remove(%w[ann].each, again.ids, again.stamp).to_a
    assert_equal [[0, 0], 1], [tracker.remove([], [], 1).to_a, tracker.len]
    assert [sample, *sample.ids].all?(&:frozen?)
  end

  # Nothing of the tracker is locked while a block runs.
  on_every_backend :an_id_that_is_added_while_it_is_checked_stays do |url|
    tracker = tracker_on(url)
    tracker.add(%w[a b c])
    pruned = tracker.prune do |ids|
      tracker.add("a")
      tracker.scan { [[1, "b"]] }
      ids
    end
    assert_equal [[3, 1], [true, true, false]], [pruned.to_a, tracker.are_queued?(%w[a b c])]
  end

  ERRORS = [RuntimeError, ArgumentError, TypeError, StopIteration, IOError, Millpond::TimeoutError, Timeout::Error,
            NotImplementedError, NoMemoryError, SystemExit, Interrupt].freeze

  on_every_backend :what_a_block_raises_passes do |url|
    tracker = tracker_on(url)
    tracker.scan(limit: 3) { [[1, "a"], [2, "b"], [3, "c"]] }
    before = tracker.stats
    checked = []
    ERRORS.each do |kind|
      raised = kind.new("on purpose")
      assert_same raised, assert_raises(kind) { tracker.scan { raise raised } }
      rows = Enumerator.new { |all| raise raised if all << [4, "d"] }
      assert_same raised, assert_raises(kind) { tracker.scan { rows } }
      assert_equal before, tracker.stats if checked.empty?
      assert_same raised, assert_raises(kind) { tracker.prune { |ids| raise raised if checked << ids.size } }
    end
    assert_equal [3] + [1] * (ERRORS.size - 1), checked
    assert_equal [7, nil], [tracker.scan { break 7 }, catch(:out) { tracker.prune { throw :out } }]
    assert_raises(Timeout::Error) { Timeout.timeout(0.05) { tracker.scan { sleep } } }
    in_thread { tracker.prune { sleep } }.kill.join
    assert_equal [3, 0, "3"], tracker.stats.to_a.values_at(0, 1, 3)
    assert_equal [1, 3], Array.new(2) { tracker.prune { [] }.checked }
  end

  WRONG_ROWS = {
    nil => /what the block returned must be a list, such as an Array, not nil/,
    7 => /what the block returned must be a list, such as an Array, not Integer/,
    "ann" => /what the block returned must be a list, such as an Array, not String/,
    [7] => /rows\[0\] must be \[row, id\], not Integer/,
    ["ab"] => /rows\[0\] must be \[row, id\], not String/,
    [[8, "a"], [9]] => /rows\[1\] must be \[row, id\], not Array/,
    [[8, "a", "b"]] => /rows\[0\] must be \[row, id\], not Array/,
    [{ 8 => "a" }] => /rows\[0\] must be \[row, id\], not Hash/,
    [[8.0, "a"]] => /rows\[0\]\[0\] must be a String or an Integer, not Float/,
    [[nil, "a"]] => /rows\[0\]\[0\] must be a String or an Integer, not nil/,
    [[true, "a"]] => /rows\[0\]\[0\] must be a String or an Integer, not TrueClass/,
    [[8, "a"], [9, 7]] => /rows\[1\]\[1\] must be a String or nil, not Integer/,
    [[8, :a]] => /rows\[0\]\[1\] must be a String or nil, not Symbol/,
    [["", "a"]] => [/a row has 0 bytes/, INVALID],
    [["x" * 1_025, "a"]] => [/a row has 1025 bytes/, INVALID],
    [["\xFF", "a"]] => [/a row is not UTF-8/, INVALID],
    [[8, "x" * 513]] => [/an id has 513 bytes/, INVALID],
    [[6, "a"], [7, "a"]] => [/the rows end where they began/, INVALID],
    [[8, "a"]] * 1_001 => [/what the block returned has more than 1000 items/, INVALID]
  }.freeze

  WRONG_IDS = {
    nil => /what the block returned must be a list, such as an Array, not nil/,
    "a" => /what the block returned must be a list, such as an Array, not String/,
    true => /what the block returned must be a list, such as an Array, not TrueClass/,
    ["a", 7] => /ids\[1\] must be a String, not Integer/,
    ["a", nil] => /ids\[1\] must be a String, not nil/,
    %w[a zoe] => [/1 of the ids to remove were not sampled/, INVALID],
    ["a", ""] => [/an id has 0 bytes/, INVALID],
    ["a"] * 1_001 => [/what the block returned has more than 1000 items/, INVALID]
  }.freeze

  on_every_backend :what_else_a_block_returns_is_refused_and_changes_nothing do |url|
    tracker = tracker_on(url)
    tracker.scan(limit: 1) { [[7, "a"]] }
    before = tracker.stats
    WRONG_ROWS.each do |rows, (message, kind)|
      refused(message, kind || TypeError) { tracker.scan(limit: 2) { rows } }
      assert_equal before, tracker.stats
    end
    WRONG_IDS.each { |ids, (message, kind)| refused(message, kind || TypeError) { tracker.prune { ids } } }
    assert_equal [1, true], [tracker.len, tracker.queued?("a")]
  end

  on_every_backend :encodings do |url|
    tracker = tracker_on(url, encoding: Encoding::UTF_8)
    tracker.add(["ä", "\xFF"])
    assert_equal [true, true, false], tracker.are_queued?(["ä".b, "\xFF".b, "ä".encode("ISO-8859-1")])
    encodings = ->(ids) { ids.sort_by(&:b).map { |id| [id.b, id.encoding] } }
    expected = [["ä".b, Encoding::UTF_8], ["\xFF".b, Encoding::BINARY]]
    assert_equal expected, encodings.call(tracker.ids.map(&:id))
    tracker.prune { |ids| assert_equal(expected, encodings.call(ids)) && [] }
    tracker.scan(limit: 1) { [["ö".b, "ä".b]] }
    assert_equal ["ö", Encoding::UTF_8], [tracker.stats.row, tracker.stats.row.encoding]
    if url.start_with?("redis:")
      bytes = tracker_on(url, encoding: Encoding::BINARY)
      assert_equal [Encoding::BINARY], bytes.ids.map { |tracked| tracked.id.encoding }.uniq
    end
    assert_equal [2, 2], tracker.prune { |ids| ids.map(&:b) }.to_a
  end

  def test_limits_and_arguments
    tracker = tracker_on("memory:")
    refused(/a scan has a block that reads rows/, ArgumentError) { tracker.scan }
    refused(/a prune has a block that checks ids/, ArgumentError) { tracker.prune }
    [0, 1_001].each do |limit|
      [-> { tracker.ids(limit: limit) }, -> { tracker.sample(limit: limit) }, -> { tracker.begin_scan(limit: limit) },
       -> { tracker.scan(limit: limit) { flunk } }, -> { tracker.prune(limit: limit) { flunk } },
       -> { tracker.advance("", [], [], limit: limit) }].each { |call| refused(/the limit is #{limit}, not/, &call) }
    end
    [3_155_760_001, Float::INFINITY].each do |time|
      [-> { tracker.scan(round_min: time) { flunk } }, -> { tracker.begin_scan(round_min: time) },
       -> { tracker.advance("", [], [], round_min: time) }].each { |call| refused(/more than 100 years/, &call) }
    end
    [-> { tracker.add([]) }, -> { tracker.are_queued?([]) }].each { |call| refused(/the call names no id/, &call) }
    [-> { tracker.add("x" * 513) }, -> { tracker.queued?("x" * 513) }].each { |call| refused(/an id has 513/, &call) }
    [-> { tracker.add(["a", ""]) }, -> { tracker.queued?("") }].each { |call| refused(/an id has 0/, &call) }
    refused(/more rows than ids/) { tracker.advance("", %w[1 2], ["a"]) }
    refused(/more ids than rows/) { tracker.advance("", ["1"], %w[a b]) }
    refused(/2 of the ids to remove/) { tracker.remove(%w[a b c], ["a"], 1) }
    refused(/unknown keyword: :count/, ArgumentError) { tracker.ids(count: 1) }
    refused(/the name is empty/) { tracker_on("memory:", "").len }
    assert_equal [0, 0, nil, nil], tracker.stats.to_a
  end

  on_every_backend :other_fibers_run_while_a_block_reads_rows do |url|
    tracker = tracker_on(url)
    others = 0
    Scheduler.run do
      Fiber.schedule { tracker.scan { wait_until { others == 3 } || [[1, "a"]] } }
      3.times { (others += 1) && sleep(0.001) }
      wait_until { tracker.queued?("a") }
    end
  end

  def test_a_child_scans_and_prunes
    tracker = tracker_on(Servers.shared.url)
    tracker.add("a")
    in_child do
      assert_equal [1, 1], tracker.prune(&:itself).to_a
      assert_equal [1, 1, false], tracker.scan { [[1, "b"]] }.to_a
    end
    assert_equal [false, true], tracker.are_queued?(%w[a b])
  end

  def test_trackers_have_their_own_ids_and_keys_of_others_are_refused
    server = own_server
    require "redis"
    Redis.new(url: server.url).set("{x}:tracker:ids", "text")
    tracker = tracker_on(server.url, "x")
    error = assert_raises(Millpond::WrongTypeError) { tracker.add("a") }
    assert_equal "tracker.add", error.operation
    [-> { tracker.scan { flunk } }, -> { tracker.prune { flunk } }, -> { tracker.ids }].each do |call|
      assert_raises(Millpond::WrongTypeError, &call)
    end
    tracker_on(server.url, "y").add("a")
    assert_equal [1, 0], %w[y z].map { |name| tracker_on(server.url, name).len }
  end
end
