# frozen_string_literal: true

# What an Ick is for: a document that changes while it is being worked on is processed again.
#
# ruby examples/ruby/first.rb [URL]

require "millpond"

def assert(claim)
  raise "not so" unless claim
end

url = ARGV.fetch(0, "memory:")
Millpond.connect(url) do |client|
  ick = client.ick("examples/first")
  ick.delete

  # Flag two documents. The score says how urgent: the lowest comes first.
  added = ick.add([[2.0, "b.txt"], [1.0, "a.txt"]])
  assert added.new == 2 && added.lowered.zero?

  # Flag one of them again: it is merged into the existing flag, which keeps its score.
  added = ick.add([[3.0, "a.txt"]])
  assert added.new.zero? && added.lowered.zero?

  # Take a batch. It stays reserved until it is committed.
  batch = ick.reserve(10)
  assert batch.map { |member, _score| member } == ["a.txt", "b.txt"]

  # While we work, a.txt changes again. The commit does not remove that flag.
  ick.add([[4.0, "a.txt"]])
  assert ick.commit(["a.txt", "b.txt"]) == 2

  assert ick.reserve(10) == [["a.txt", 4.0]]
  puts "a.txt changed while it was being worked on, and came again"

  ick.delete
end
