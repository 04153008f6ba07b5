# frozen_string_literal: true

# The adapter for the drop-in of the gem redis-ick: the calls go through redis-rb, so there is no
# embedded engine.

require "redis"
require "redis/ick"
require_relative "ruby_values"

# The client that is open and the calls on it.
class Session
  include Values

  CLUSTER = "redis+cluster://"
  RANGES = %w[pset_min pset_max cset_min cset_max total_min total_max].freeze

  def open(url)
    close
    @redis =
      if url.start_with?(CLUSTER)
        Redis.new(cluster: url.delete_prefix(CLUSTER).split(",").map { |node| "redis://#{node}" })
      elsif url.start_with?("redis://")
        Redis.new(url: url)
      else
        raise Unsupported, "redis-rb reaches no #{url[/\A[^:]+/]}"
      end
    @ick = Redis::Ick.new(@redis)
    nil
  end

  def close
    redis = @redis
    @redis = nil
    redis&.close
  end

  # Makes the call of one request.
  def result(request)
    return open(request["url"]) if request["call"] == "open"
    return close if request["call"] == "close"

    (_, of), (call, request) = request["calls"]
    name = decoded(of["name"])
    backwash = request["backwash"]
    case call
    when "add" then @ick.ickadd(name, *decoded(request["pairs"]).flatten(1))
    when "reserve" then @ick.ickreserve(name, decoded(request["max"]), backwash: backwash)
    when "commit" then @ick.ickcommit(name, *decoded(request["members"]))
    when "exchange"
      @ick.ickexchange(name, decoded(request["max"]), *decoded(request["members"]), backwash: backwash)
    when "stats" then stats(name)
    when "delete", "unlink" then @ick.ickdel(name, unlink: call == "unlink")
    else raise Unsupported, "the call #{call} is not known"
    end
  end

  # The response to one request.
  def respond(request)
    { result: encoded(result(request)) }
  rescue ArgumentError => error
    { error: { code: 1, name: "INVALID_ARGUMENT", message: error.message } }
  rescue Redis::CommandError => error
    { error: meaning(error.message) }
  end

  private

  # The gem takes only plain values.
  def record(fields)
    raise Unsupported, "the gem has no record with #{fields.keys.join(', ')}"
  end

  # The gem leaves out what an empty set has not.
  def stats(name)
    found = @ick.ickstats(name)
    found && RANGES.to_h { |range| [range, nil] }.merge(found).transform_keys(&:to_sym)
  end

  # What the library says that a server's error means.
  def meaning(text)
    code = Meaning.millpond_script_error(text, text.bytesize, nil)
    { code: code, name: Millpond::ERROR_CLASSES.fetch(code)::NAME, message: text }
  end

  # The one function for which the gem has no use itself.
  module Meaning
    extend FFI::Library
    ffi_lib Millpond::Native.ffi_libraries.first.name
    attach_function :millpond_script_error, %i[buffer_in size_t pointer], :int
  end
end

Values.serve(Session.new)
