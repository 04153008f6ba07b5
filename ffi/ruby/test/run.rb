# frozen_string_literal: true

# Runs all tests: ruby -Ilib test/run.rb
$LOAD_PATH.unshift(File.expand_path("redis_rb/namespace", __dir__))
system(File.expand_path("redis_rb/fetch", __dir__), exception: true)

Dir[File.expand_path("**/*_test.rb", __dir__)].sort.each { |file| require file }
