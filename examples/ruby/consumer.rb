# frozen_string_literal: true

# Works on what producer.rb flags, until nothing has come for a second.
#
# ruby examples/ruby/consumer.rb redis://localhost
#
# One consumer an Ick. With the default, memory:, it flags a few documents for itself first.

require "millpond"

url = ARGV.fetch(0, "memory:")
Millpond.connect(url) do |client|
  ick = client.ick("examples/documents")
  ick.add([[nil, "a.txt"], [nil, "b.txt"], [nil, "c.txt"]]) if url == "memory:"

  worked = 0
  # A batch is committed when the block is over. An exception leaves it reserved, and the next
  # consumer gets it again: at least once.
  ick.each_batch(100, wait: 1) do |batch|
    batch.each do |member, _score|
      puts "working on #{member}"
      worked += 1
    end
  end

  raise "what was worked on is committed" unless ick.stats.cset_size.zero?
  raise "three documents" unless worked == 3 || url != "memory:"

  puts "#{worked} documents; nothing is left"
end
