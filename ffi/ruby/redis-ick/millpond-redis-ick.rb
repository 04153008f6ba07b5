# frozen_string_literal: true

# What Bundler loads for this gem: `Redis::Ick`, in place of the gem redis-ick.
require "redis/ick"
