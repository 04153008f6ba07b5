# frozen_string_literal: true

# Runs the own test suite of the gem redis-ick against the drop-in:
#
#   MILLPOND_REDIS_ICK_GEM=checkout ruby -rset -Ilib test/redis_ick/gem_suite.rb
#
# Its tests also need the gem redis-key_hash: MILLPOND_REDIS_KEY_HASH_GEM is a checkout of that, by default
# the folder redis-key_hash beside the first. Nothing in either is changed. -rset is for the gems,
# which were written for a Ruby that had Set without asking.

def skip(why)
  puts "redis-ick: SKIPPED, its own suite was not run against the drop-in: #{why}"
  exit
end

gem_folder = ENV["MILLPOND_REDIS_ICK_GEM"].to_s
skip "MILLPOND_REDIS_ICK_GEM names no checkout of ProsperWorks/redis-ick" if gem_folder.empty?
gem_folder = File.expand_path(gem_folder)
key_hash = ENV.fetch("MILLPOND_REDIS_KEY_HASH_GEM") { File.expand_path("../redis-key_hash", gem_folder) }
suite = File.join(gem_folder, "test/redis/ick_test.rb")
[suite, File.join(key_hash, "lib/redis/key_hash.rb")].each { |file| File.file?(file) || abort("there is no #{file}") }

system(File.expand_path("../redis_rb/fetch", __dir__), exception: true)
$LOAD_PATH.unshift(File.expand_path("../redis_rb/namespace", __dir__), File.join(key_hash, "lib"),
                   File.join(gem_folder, "test"))

require "minitest/autorun"
require "redis/ick"
require_relative "../servers"

# The helper of the suite puts the gem's own code at the head of the load path.
Minitest.after_run do
  tested = Redis::Ick.instance_method(:ickexchange).source_location.first
  abort "not the drop-in was tested, but #{tested}" unless tested == File.expand_path("../../lib/redis/ick.rb", __dir__)
end

server = Servers.shared
ENV["REDIS_URL"] = server.url
require suite
