# frozen_string_literal: true

require_relative "lib/millpond/version"

Gem::Specification.new do |spec|
  spec.name = "millpond"
  spec.version = Millpond::VERSION
  spec.authors = ["Millpond contributors"]
  spec.summary = "Queues for programs in several languages, on Redis or embedded; in place of redis-ick."
  spec.description = "The Ick, a dirty list with write-folding and two-phase commit, the shuffle queue, which " \
                     "many tenants share, and stores of tasks, which are claimed and finished in one step " \
                     "with what follows, on Redis, Valkey or an embedded engine. The same queues in Ruby, " \
                     "Python, Node, PHP, C and Rust. Has the methods of the gem redis-ick too, for redis-rb " \
                     "4 and 5."
  spec.homepage = "https://github.com/millpond/millpond"
  spec.licenses = ["MIT", "Apache-2.0"]
  spec.required_ruby_version = ">= 2.7"
  spec.add_dependency "ffi", ">= 1.15", "< 2"

  # The library is there after `rake build`, and in a release one for each C library; without any the gem uses the
  # system's.
  carried = Dir["lib/millpond/{,gnu/,musl/}libmillpond.*", base: __dir__]
  spec.platform = Gem::Platform::CURRENT unless carried.empty?
  # What a release says of others' code in the library.
  notices = ["THIRD-PARTY.md", "sbom.cdx.json"].select { |file| File.exist?(File.join(__dir__, file)) }
  spec.files = Dir["lib/**/*.rb", "sig/*", "README.md", "LICENSE-*", base: __dir__] + carried + notices
  spec.metadata["changelog_uri"] = "#{spec.homepage}/blob/main/CHANGELOG.md"
  spec.metadata["bug_tracker_uri"] = "#{spec.homepage}/issues"
  spec.metadata["rubygems_mfa_required"] = "true"
end
