# frozen_string_literal: true

# Calls per second from Ruby: the drop-in against the same redis-rb connection that calls EVALSHA
# by hand, and Millpond's own API against redis-rb. Prints a list of rows as JSON.
#
# Arguments: the server's URL. The scripts are the library's.

$LOAD_PATH.unshift(File.expand_path("../../../ffi/ruby/lib", __dir__))

require "json"
require "redis"
require "redis/ick"

require_relative "measure"

ROUNDS = 15
# Within 1.1 times.
AIM = 1 / 1.1
KEYS = Millpond::Ick.keys("k").freeze
ADD = Millpond::Script.find("ick.add")
RESERVE = Millpond::Script.find("ick.reserve")

def rate(calls, &call)
  began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  calls.times(&call)
  calls / (Process.clock_gettime(Process::CLOCK_MONOTONIC) - began)
end

# Ours and theirs in turn, round by round.
def row(name, peer, calls, ours, theirs, aim: nil)
  GC.start
  figures = in_turn(ROUNDS, ours: -> { rate(calls, &ours) }, theirs: -> { rate(calls, &theirs) })
  with_figures({ name: name, concurrent: 1, peer: peer, aim: aim }.compact, figures[:ours], figures[:theirs])
end

url = ARGV.fetch(0)
redis = Redis.new(url: url, driver: :ruby)
[ADD, RESERVE].each { |script| redis.script(:load, script.source) }
drop_in = Redis::Ick.new(redis)
ick = Millpond.connect(url).ick("k")

rows = [1, 100, 1_000].flat_map do |size|
  calls = size == 1 ? 2_000 : 20_000 / size
  members = Array.new(size) { |number| format("document-%08d", number) }
  pairs = members.map { |member| [1_763_691_473.5, member] }
  flat = pairs.flatten
  argv = ["0", *flat]
  by_hand = ->(_) { redis.evalsha(ADD.sha1, KEYS, argv) }
  redis.flushdb
  added = [
    row("add #{size}, drop-in", "redis-rb by hand", calls, ->(_) { drop_in.ickadd("k", *flat) }, by_hand, aim: AIM),
    row("add #{size}", "redis-rb", calls, ->(_) { ick.add(pairs) }, by_hand)
  ]
  reserve = ["", size, 0]
  by_hand = lambda do |_|
    redis.evalsha(RESERVE.sha1, KEYS, reserve).each_slice(2).map { |member, score| [member, Float(score)] }
  end
  reserved = [
    row("reserve #{size}, drop-in", "redis-rb by hand", calls, ->(_) { drop_in.ickreserve("k", size) }, by_hand, aim: AIM),
    row("reserve #{size}", "redis-rb", calls, ->(_) { ick.reserve(size) }, by_hand)
  ]
  added + reserved
end
puts JSON.generate(rows)
