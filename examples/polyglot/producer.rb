# frozen_string_literal: true

# Flags documents from Ruby: its own, and those that both producers flag. polyglot.py runs it.

require "millpond"

url, own, shared = ARGV
Millpond.connect(url) do |client|
  channel = client.ick_channel("polyglot", 4)
  documents = (0...Integer(own)).map { |number| "ruby-#{number}" }
  documents += (0...Integer(shared)).map { |number| "both-#{number}" }
  # No score: the server's time, so the oldest flag comes first.
  documents.shuffle.each_slice(25) { |some| channel.add(some.map { |document| [nil, document] }) }
end
