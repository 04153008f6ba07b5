# frozen_string_literal: true

# The calls of shuffle queues.
module ShuffleCalls
  COUNTS = %i[len pending lag].freeze

  # Makes the call of one request, which begins with shuffle_.
  def shuffle_result(request)
    call = request["call"].delete_prefix("shuffle_")
    case call
    when "shard" then Millpond.shard(*values(request, "streams", "streams_per_shard", "key"))
    when "read", "ack", "extend", "reclaim" then consumed(call, shuffle_consumer(request), request)
    when "write_tracked", "write_tracked_many", "delete_tracked", "cordon", "gc" then tracked(call, shuffle_queue(request), request)
    else asked(call, shuffle_queue(request), request)
    end
  end

  private

  def asked(call, queue, request)
    case call
    when "write" then shown(queue.write(*values(request, "shard_key", "fields")))
    when "write_many" then queue.write_many(decoded(request["messages"])).map { |receipt| shown(receipt) }
    when "resize" then queue.resize(decoded(request["streams"]))
    when "delete_dead_letters" then queue.delete_dead_letters(request["ids"])
    when "len" then queue.len
    when "backlog" then queue.backlog
    when "pending_count" then queue.pending_count(decoded(request["group"]))
    when "stats" then stats(queue.stats(decoded(request["group"])))
    when "dead_letters"
      letters = queue.dead_letters(max: decoded(request["max"]))
      letters.map { |letter| letter.to_h.merge(message: shown(letter.message)) }
    else raise Unsupported, "the call shuffle_#{call} is not known"
    end
  end

  def tracked(call, queue, request)
    case call
    when "write_tracked"
      deadline = decoded(request["deadline"])
      shown(queue.write_tracked(*values(request, "shard_key", "fields", "track_field"), deadline: deadline))
    when "write_tracked_many"
      messages, field = values(request, "messages", "track_field")
      queue.write_tracked_many(messages, field, deadline: decoded(request["deadline"])).map { |receipt| shown(receipt) }
    when "delete_tracked" then queue.delete_tracked(decoded(request["value"]))&.to_h
    when "cordon" then queue.cordon_deadline_exceeded(decoded(request["within"]))
    when "gc"
      seen = []
      garbage = queue.gc(time_digits: decoded(request["time_digits"])) { |values| seen.concat(values) }
      { scanned: garbage.scanned, deleted: garbage.deleted, seen: seen }
    end
  end

  def consumed(call, consumer, request)
    return read(consumer, *values(request, "max", "block")) if call == "read"

    if call == "reclaim"
      min_idle, max = values(request, "min_idle", "max")
      messages, dead = consumer.reclaim(min_idle: min_idle, max: max)
      return { messages: messages.map { |message| shown(message) }, dead: dead }
    end
    receipts = request["receipts"].map { |one| Millpond::Receipt.new(one["stream"], one["id"]) }
    return consumer.renew(receipts) if call == "extend"

    request["delete"] ? consumer.ack_and_delete(receipts) : consumer.ack(receipts)
  end

  def read(consumer, max, wait)
    messages = max == 1 ? [consumer.read(wait: wait)].compact : consumer.read_many(max, wait: wait)
    messages.map { |message| shown(message) }
  end

  # The queue of a request, with the settings that it names.
  def shuffle_queue(request)
    settings = settings(request, :streams, :streams_per_shard, :ttl, :dead_ttl)
    keys = request["track_keys"]
    settings[:track_keys] = keys.is_a?(String) ? keys.to_sym : keys if request.key?("track_keys")
    @client.shuffle_queue(decoded(request["name"]), **settings)
  end

  # The consumer of a request, with the settings that it names.
  def shuffle_consumer(request)
    settings = settings(request, :prefer_stream, :default_stream, :max_deliveries)
    shuffle_queue(request).consumer(*values(request, "group", "consumer"), **settings)
  end

  def settings(request, *names)
    named = names.select { |name| request.key?(name.to_s) }
    named.to_h { |name| [name, decoded(request[name.to_s])] }
  end

  def values(request, *names)
    names.map { |name| decoded(request[name]) }
  end

  # A message or a receipt as a response has it.
  def shown(found)
    parts = { stream: found.stream, id: found.id }
    return parts unless found.is_a?(Millpond::Message)

    parts.merge(fields: found.fields, deliveries: found.deliveries)
  end

  # How long a message lies there is nothing that a case can say.
  def stats(stats)
    streams = stats.streams.map { |stream| stream.to_h.slice(*COUNTS) }
    stats.to_h.slice(*COUNTS).merge(streams: streams)
  end
end
