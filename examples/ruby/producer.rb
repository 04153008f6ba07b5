# frozen_string_literal: true

# Flags documents as dirty; run consumer.rb with the same URL to work on them.
#
# ruby examples/ruby/producer.rb redis://localhost
#
# Any number of producers may run. With the default, memory:, other programs do not see what is
# flagged.

require "millpond"

def assert(claim)
  raise "not so" unless claim
end

url = ARGV.fetch(0, "memory:")
Millpond.connect(url) do |client|
  ick = client.ick("examples/documents")

  # Three documents, with no score: the server's time, so the oldest flag comes first.
  ick.add([[nil, "a.txt"], [nil, "b.txt"], [nil, "c.txt"]])

  # A busy document is flagged a thousand times and is one piece of work. It may be new, if a
  # consumer took the first flag meanwhile; a later time never lowers its score.
  added = ick.add([[nil, "busy.txt"]] * 1_000)
  assert added.new <= 1
  assert added.lowered.zero?

  stats = ick.stats
  assert stats.pset_size <= 4 || url != "memory:"
  puts "flagged; #{stats.pset_size} documents wait, #{stats.cset_size} are being worked on"
end
