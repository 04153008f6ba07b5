# frozen_string_literal: true

# What a request says of the blocks that scans and prunes call.
module Trackers
  # What such a block fails with.
  class Raised < StandardError
  end

  private

  # Makes a scan or a prune, and returns what its block got too.
  def call_tracker(tracker, name, given)
    seen = nil
    rest = given.except("rows", "done", "adds", "raises")
    result = made(tracker, name, rest) do |*arguments|
      seen = name == "scan" ? { after: arguments[0], limit: arguments[1] } : arguments[0]
      tracker.add(decoded(given["adds"])) if given.key?("adds")
      raise Raised, given["raises"] if given.key?("raises")

      name == "scan" ? given["rows"].map { |row, id| [row, decoded(id)] } : decoded(given["done"])
    end
    { seen: seen, result: result }
  rescue Raised => error
    { seen: seen, raised: error.message }
  end
end
