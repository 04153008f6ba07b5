# frozen_string_literal: true

require_relative "lib/millpond/version"

# Bundler loads what has the name of a gem, and `millpond` alone needs no redis-rb: hence a gem of its own.
Gem::Specification.new do |spec|
  spec.name = "millpond-redis-ick"
  spec.version = Millpond::VERSION
  spec.authors = ["Millpond contributors"]
  spec.summary = "In place of the gem redis-ick: one line in the Gemfile."
  spec.description = "Redis::Ick with the methods, results and data in Redis of the gem redis-ick, for redis-rb 4 " \
                     "and 5 and Ruby 2.7 and later. The code is in the gem millpond."
  spec.homepage = "https://github.com/millpond/millpond"
  spec.licenses = ["MIT", "Apache-2.0"]
  spec.required_ruby_version = ">= 2.7"
  spec.add_dependency "millpond", Millpond::VERSION
  spec.add_dependency "redis", ">= 4.2", "< 6"

  spec.require_paths = ["redis-ick"]
  spec.files = Dir["redis-ick/*.rb", "README.md", "LICENSE-*", base: __dir__]
  spec.metadata["changelog_uri"] = "#{spec.homepage}/blob/main/CHANGELOG.md"
  spec.metadata["bug_tracker_uri"] = "#{spec.homepage}/issues"
  spec.metadata["rubygems_mfa_required"] = "true"
end
