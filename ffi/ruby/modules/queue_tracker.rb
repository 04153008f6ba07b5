# frozen_string_literal: true

require "millpond/task_arguments"
require "millpond/tracker_results"

module Millpond
  # core
  # @example
  #   table = [[1, "ann"], [2, "bob"], [3, "ann"]] # of a database; each row has an id
  #   tracker = Millpond.connect("memory:").queue_tracker("orders")
  #   # select … where number > after order by number limit …
  #   scanned = tracker.scan { |after, limit| table.select { |number, _| number > after.to_i }.first(limit) }
  #   [scanned.rows, scanned.added] # => [3, 2]
  #
  #   table.delete([2, "bob"]) # the work is done
  #   tracker.prune { |ids| ids.reject { |id| table.any? { |_, other| other == id } } }.removed # => 1
  #   tracker.are_queued?(%w[ann bob]) # => [true, false]
  class QueueTracker
    # @return [String] the name
    attr_reader :name

    # @api private
    def initialize(client, name)
      @encoding = client.encoding
      @name = Convert.bytes("name", name)
      @native = Call.handle(Native::Tracker) do |out, error|
        Native.millpond_tracker_new(client.native, @name, @name.bytesize, out, error)
      end
    end

    # @example
    #   tracker = Millpond.connect("memory:").queue_tracker("orders")
    #   tracker.add("ann")
    #   tracker.add(%w[bob eve])
    #   tracker.len # => 3
    def add(ids) = core

    # @example
    #   tracker = Millpond.connect("memory:").queue_tracker("orders")
    #   tracker.queued?("ann") # => false
    def queued?(id) = core

    # @example
    #   tracker = Millpond.connect("memory:").queue_tracker("orders")
    #   tracker.add("ann")
    #   tracker.are_queued?(%w[ann bob]) # => [true, false]
    def are_queued?(ids) = core

    # @example
    #   Millpond.connect("memory:").queue_tracker("orders").len # => 0
    def len = core

    # @example
    #   tracker = Millpond.connect("memory:").queue_tracker("orders")
    #   tracker.scan(limit: 1) { [[1, "ann"]] }
    #   tracker.stats.row # => "1"
    def stats = core

    # @example
    #   tracker = Millpond.connect("memory:").queue_tracker("orders")
    #   tracker.add(%w[ann bob])
    #   tracker.add("eve")
    #   first = tracker.ids(limit: 1)
    #   first.map(&:id) # => ["ann", "bob"]
    #   tracker.ids(after: first.last.stamp).map(&:id) # => ["eve"]
    def ids(after: 0, limit: 25) = core

    # @example
    #   tracker = Millpond.connect("memory:").queue_tracker("orders")
    #   tracker.add("ann")
    #   tracker.clear # => 1
    def clear = core

    # @example
    #   tracker = Millpond.connect("memory:").queue_tracker("orders")
    #   tracker.scan(limit: 2) { |after, limit| [[1, "ann"], [2, nil]] }.more # => true
    def scan(limit: 25, round_min: 60)
      raise ArgumentError, "a scan has a block that reads rows" unless block_given?

      after = begin_scan(limit: limit, round_min: round_min).row
      places, ids = rows_of(yield(after, limit))
      advance(after.to_s, places, ids, limit: limit, round_min: round_min)
    end

    # @example
    #   tracker = Millpond.connect("memory:").queue_tracker("orders")
    #   tracker.add(%w[ann bob])
    #   tracker.prune { |ids| ids - ["ann"] }.removed # => 1
    def prune(limit: 25)
      raise ArgumentError, "a prune has a block that checks ids" unless block_given?

      sampled = sample(limit: limit)
      return Pruned.new(0, 0).freeze if sampled.ids.empty?

      # The block gets a list of its own, which it may change.
      remove(returned(yield(sampled.ids.dup)), sampled.ids, sampled.stamp)
    end

    # @example
    #   Millpond.connect("memory:").queue_tracker("orders").begin_scan.row # => nil
    def begin_scan(limit: 25, round_min: 60) = core

    # @example
    #   tracker = Millpond.connect("memory:").queue_tracker("orders")
    #   tracker.advance("", %w[1 2], ["ann", ""], limit: 2).added # => 1
    def advance(after, rows, ids, limit: 25, round_min: 60) = core

    # @example
    #   tracker = Millpond.connect("memory:").queue_tracker("orders")
    #   tracker.add("ann")
    #   sample = tracker.sample
    #   tracker.remove(["ann"], sample.ids, sample.stamp).removed # => 1
    def sample(limit: 25) = core

    # @example
    #   tracker = Millpond.connect("memory:").queue_tracker("orders")
    #   tracker.remove(["ann"], ["bob"], 1) # raises Millpond::InvalidArgumentError
    def remove(ids, sampled, stamp) = core

    private

    # Where the rows of a page are, and their ids, which are empty for none.
    def rows_of(rows)
      places = []
      ids = returned(rows).each_with_index.map do |row, index|
        raise Convert.wrong_type("rows[#{index}]", "[row, id]", row) unless row.is_a?(Array) && row.size == 2

        place, id = row
        places << place_of(place, index)
        raise Convert.wrong_type("rows[#{index}][1]", "a String or nil", id) unless id.nil? || id.is_a?(String)

        id || ""
      end
      [places, ids]
    end

    def place_of(place, index)
      case place
      when String then place
      when Integer then place.to_s
      else raise Convert.wrong_type("rows[#{index}][0]", "a String or an Integer", place)
      end
    end

    # The items of what a block returned: no more of them than a call takes are read, and one more.
    def returned(items)
      Convert.elements("what the block returned", items, 1_000)
    end
  end
end
