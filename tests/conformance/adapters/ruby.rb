# frozen_string_literal: true

# The adapter for Ruby: one JSON request per line in, one JSON response per line out.

require "millpond"
require_relative "ruby_shuffle"
require_relative "ruby_tasks"
require_relative "ruby_values"

# The client that is open and the calls on it.
class Session
  include ShuffleCalls
  include TaskCalls
  include Values

  def open(url)
    close
    @client = Millpond.connect(url, encoding: Encoding::BINARY)
    nil
  end

  def close
    client = @client
    @client = nil
    client&.close
  end

  # Makes the call of one request.
  def result(request)
    call = request["call"]
    return open(request["url"]) if call == "open"
    return close if call == "close"
    return later(request) if call == "later"
    return shuffle_result(request) if call.start_with?("shuffle_")
    return tasks_result(request) if call.start_with?("tasks_")

    ick = @client.ick(decoded(request["name"]))
    backwash = request["backwash"]
    case call
    when "add" then ick.add(pairs(request)).to_a
    when "reserve" then ick.reserve(decoded(request["max"]), backwash: backwash)
    when "commit" then ick.commit(decoded(request["members"]))
    when "exchange" then ick.exchange(decoded(request["max"]), decoded(request["members"]), backwash: backwash)
    when "stats" then ick.stats&.to_h
    when "delete" then request["unlink"] ? ick.unlink : ick.delete
    when "peek" then ick.peek(request["max"], set: request["set"].to_sym)
    else raise Unsupported, "the call #{call} is not known"
    end
  end

  # The response to one request.
  def respond(request)
    attempt { result(request) }
  end

  private

  def attempt
    { result: encoded(yield) }
  rescue Millpond::Error => error
    told = { code: error.code, name: error.name, message: error.message }
    told[:dependency] = dependency(error) if error.is_a?(Millpond::DependencyError)
    { error: told }
  rescue TypeError => error
    # The error for a wrong type before the library sees it.
    { error: { code: 1, name: "INVALID_ARGUMENT", message: "TypeError: #{error.message}" } }
  end

  def pairs(request)
    request["pairs"].map do |score, member|
      raise Unsupported, "a score of nil is the server's time" if score.nil?

      score = decoded(score)
      raise Unsupported, "a Rational is a number like any other" if score.is_a?(Rational)

      [score, decoded(member)]
    end
  end
end

Values.serve(Session.new)
