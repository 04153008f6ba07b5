# frozen_string_literal: true

# The adapter for Ruby: one JSON request per line in, one JSON response per line out.

require "millpond"
require_relative "ruby_values"
require_relative "ruby_arguments"
require_relative "ruby_jobs"
require_relative "ruby_recruiter"
require_relative "ruby_tracker"

# The client that is open and the calls on it.
class Session
  include Arguments
  include Jobs
  include Trackers
  include Values

  # What the gem calls another way.
  NAMES = { "are_empty" => "are_empty?", "reschedule_at_ms" => "reschedule", "hash" => "[]",
            "is_due" => "due?", "is_queued" => "queued?", "are_queued" => "are_queued?" }.freeze

  def open(url)
    close
    @client = Millpond.connect(url, encoding: Encoding::BINARY)
    nil
  end

  def close
    client = @client
    @client = nil
    # By their names as JSON.
    @recruiters = {}
    client&.close
  end

  # Makes the calls of one request, each on what the one before it returned.
  def result(request)
    case request["call"]
    when nil then shown(request["calls"].inject(@client) { |on, (name, given)| called(on, name, given) })
    when "open" then open(request["url"])
    when "close" then close
    when "later" then later(request)
    else raise Unsupported, "the call #{request['call']} is not known"
    end
  end

  # The response to one request.
  def respond(request)
    attempt { result(request) }
  end

  private

  # Makes one call.
  def called(on, name, given)
    return recruiter(given) if name == "recruiter"
    return on.public_send(name, given) if on.is_a?(Noted) && Noted::OWN.include?(name)

    on = on.recruiter if on.is_a?(Noted)
    return public_send(name, on, given["jobs"]) if %w[work drain run].include?(name)
    return gc(on, given) if name == "gc"
    return call_tracker(on, name, given) if %w[scan prune].include?(name)

    given = given.transform_keys("shard_key" => "key") if name == "shard"
    given = given.except("limit") if name == "are_empty"
    if name == "list_docs"
      given = given.except("start", "end").merge("keys" => given["start"]...given["end"])
    end
    given = given.merge("reason" => { "symbol" => given["reason"] }) if name == "redrive_all" && given["reason"]
    name = NAMES.fetch(name, name)
    on = Millpond unless on.respond_to?(name)
    raise Unsupported, "the call #{name} is not known" unless on.respond_to?(name)

    made(on, name, given)
  end

  # The recruiter with a name.
  def recruiter(given)
    @recruiters[JSON.generate(given["name"])] ||= Noted.new(made(@client, "recruiter", given), method(:made), method(:respond))
  end

  def gc(queue, given)
    seen = []
    garbage = made(queue, :gc, given) { |values| seen.concat(values) }
    { scanned: garbage.scanned, deleted: garbage.deleted, seen: seen }
  end

  # What a call returns: of a loop the first batch, the sizes of queues as pairs, and a time in milliseconds.
  def shown(found)
    case found
    when Enumerator then found.first || []
    when Float then milliseconds(found)
    when Hash then found.values.all?(Integer) ? found.to_a : found
    else found
    end
  end

  # Makes a request after a while, as another thread of the program does.
  def later(request)
    Thread.new do
      sleep(request["ms"] / 1000.0)
      result(request["request"])
    rescue Millpond::Error, TypeError => error
      warn "later: #{error.message}"
    end
    nil
  end

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

  # What a modification met, as a response has it.
  def dependency(error)
    lists = %w[inserts changes deletes depends claims].flat_map { |name| [name, "doc_#{name}"] }
    lists.to_h { |name| [name.to_sym, error.public_send(name).map(&:to_a)] }
  end
end

Values.serve(Session.new)
