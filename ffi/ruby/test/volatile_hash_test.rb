# frozen_string_literal: true

require_relative "helper"

# Volatile hashes, on every backend: fields that expire, each at its own time, and their locks.
class VolatileHashTest < MillpondTest
  INVALID = Millpond::InvalidArgumentError
  # Much longer than any test takes.
  LONG = 3_600

  def hash_on(url, name = name_of_queue, **options)
    connect(url, **options).volatile_hash(name)
  end

  on_every_backend :fields_are_set_and_read do |url|
    hash = hash_on(url)
    assert_equal [name_of_queue, nil, 0], [hash.name, hash.get("a"), hash.len]
    assert_nil hash.set("a", "1", ttl: LONG)
    assert_nil hash.set_many({ "b" => "2", "" => "" }, ttl: LONG)
    assert_nil hash.set_many([%w[c 3], %w[a 4]].each.lazy, ttl: LONG)
    assert_equal ["4", "2", "", "3", nil], hash.get_many(["a", "b", "", "c", "d"])
    assert_equal [["3"], ["4", nil]], [hash.get_many("c"), hash.get_many(%w[a d].each)]
    assert_equal [4, 4], [hash.len, hash.stats.fields]
    assert_includes 0.0..LONG, hash.ttl("a")
    assert_nil hash.ttl("d")
    assert_equal [true, false], [hash.touch("a", ttl: 2 * LONG), hash.touch("d", ttl: LONG)]
    assert_includes LONG..2 * LONG, hash.ttl("a")
    assert_equal [2, 0], [hash.delete(%w[a b d]), hash.delete("a")]
    assert_equal [2, 0], [hash.clear, hash.len]
  end

  on_every_backend :a_field_is_set_if_it_is_absent_or_present do |url|
    hash = hash_on(url)
    refute hash.set_if_present("a", "0", ttl: LONG)
    assert_equal [true, false], [hash.set_if_absent("a", "1", ttl: LONG), hash.set_if_absent("a", "2", ttl: LONG)]
    assert_equal "1", hash.get("a")
    assert hash.set_if_present("a", "3", ttl: LONG)
    assert_equal "3", hash.get("a")
  end

  on_every_backend :an_expired_field_is_gone do |url|
    hash = hash_on(url)
    hash.set("a", "1", ttl: 0.001)
    hash.set("b", "2", ttl: LONG)
    wait_until { hash.get("a").nil? }
    assert_equal [1, [nil, "2"]], [hash.len, hash.get_many(%w[a b])]
    assert_equal [nil, false, 0], [hash.ttl("a"), hash.touch("a", ttl: LONG), hash.delete("a")]
    assert hash.set_if_absent("a", "3", ttl: LONG)
  end

  on_every_backend :fields_in_pages do |url|
    hash = hash_on(url)
    { "c" => 3, "a" => 1, "b" => 2, "d" => 4 }.each { |field, hours| hash.set(field, field * hours, ttl: hours * LONG) }
    page = hash.fields(limit: 3)
    assert_equal [%w[a a], %w[b bb], %w[c ccc]], page.fields.map { |field| [field.field, field.value] }
    assert_equal [page.fields.last.expires_us, "c"], page.next.to_a
    assert_operator page.fields[0].expires_us, :<, page.fields[1].expires_us
    rest = hash.fields(after: page.next)
    assert_equal [["d"], nil], [rest.fields.map(&:field), rest.next]
    assert_equal %w[c d], hash.fields(after: page.fields[1]).fields.map(&:field)
    assert_equal [nil] * 4, hash.fields(omit_values: true).fields.map(&:value)
    assert_equal %w[aa b], hash_of_two("aa", "b", url).fields.fields.map(&:field).sort
    assert_equal [[], nil], hash_on(url, "#{name_of_queue}-none").fields.to_a
    assert [page, page.fields.first, page.next].all?(&:frozen?)
  end

  def hash_of_two(first, second, url)
    hash = hash_on(url, "#{name_of_queue}-two")
    hash.set_many({ first => "", second => "" }, ttl: LONG)
    hash
  end

  on_every_backend :a_lock_has_one_holder do |url|
    hash = hash_on(url)
    assert_nil hash.holder("a")
    first = hash.acquire("a", "me", ttl: LONG)
    assert_equal [first.fence, nil], hash.acquire("a", "me", ttl: 2 * LONG).to_a
    busy = hash.acquire("a", "you", ttl: LONG)
    assert_nil busy.fence
    assert_includes LONG..2 * LONG, busy.remaining
    holder = hash.holder("a")
    assert_equal ["me", first.fence], [holder.token, holder.fence]
    assert_includes LONG..2 * LONG, holder.remaining
    assert_equal [true, false], [hash.renew("a", "me", ttl: 3 * LONG), hash.renew("a", "you", ttl: LONG)]
    assert_operator hash.holder("a").remaining, :>, 2 * LONG
    assert_equal [1, 0], [hash.stats.locks, hash.len]
    assert_equal [false, true, false], %w[you me me].map { |token| hash.release("a", token) }
    assert_operator hash.acquire("a", "you", ttl: LONG).fence, :>, first.fence
    assert hash.release("a", "you")
    hash.acquire("a", "me", ttl: 0.001)
    wait_until { hash.holder("a").nil? }
  end

  on_every_backend :what_a_lock_protects_is_set_by_its_holder do |url|
    hash = hash_on(url)
    error = assert_raises(Millpond::LeaseLostError) { hash.set_locked("a", "me", "1", ttl: LONG) }
    assert_equal "volatile.set", error.operation
    assert_operator hash.get_or_acquire("a", "me", ttl: LONG).fence, :>, 0
    assert_nil hash.set_locked("a", "me", "1", ttl: LONG)
    assert_raises(Millpond::LeaseLostError) { hash.set_and_release("a", "you", "2", ttl: LONG) }
    assert_equal ["1", nil, nil], hash.get_or_acquire("a", "you", ttl: LONG).to_a
    hash.delete("a")
    value, fence, remaining = *hash.get_or_acquire("a", "you", ttl: LONG)
    assert_equal [nil, nil], [value, fence]
    assert_includes 0.0..LONG, remaining
    assert_nil hash.set_and_release("a", "me", "3", ttl: LONG)
    assert_equal ["3", nil], [hash.get("a"), hash.holder("a")]
    assert_raises(Millpond::LeaseLostError) { hash.set_locked("a", "me", "4", ttl: LONG) }
  end

  # Each waits for the value until one of them has computed it.
  on_every_backend :one_of_many_computes_a_value do |url|
    hash = hash_on(url)
    computed = Queue.new
    threads = Array.new(8) do |number|
      Thread.new do
        found = nil
        wait_until do
          found = hash.get_or_acquire("a", number.to_s, ttl: LONG)
          next true if found.value
          next false unless found.fence

          computed << number
          hash.set_and_release("a", number.to_s, "by #{number}", ttl: LONG)
          false
        end
        found.value
      end
    end
    assert_equal ["by #{threads.map(&:value).uniq.join[/\d+/]}"], threads.map(&:value).uniq
    assert_equal 1, computed.size
  end

  on_every_backend :encodings do |url|
    hash = hash_on(url, encoding: Encoding::UTF_8)
    hash.set_many({ "ä" => "ö", "\xFF" => "\x00\xFE".b }, ttl: LONG)
    assert_equal ["ö", "\x00\xFE".b], hash.get_many(["ä", "\xFF".b])
    assert_equal [Encoding::UTF_8, Encoding::BINARY], hash.get_many(["ä", "\xFF"]).map(&:encoding)
    assert_equal [Encoding::BINARY, Encoding::UTF_8], ["\xFF", "ä"].map { |field| hash.get(field).encoding }
    fields = hash.fields.fields.to_h { |field| [field.field, field.value] }
    assert_equal({ "ä" => "ö", "\xFF".b => "\x00\xFE".b }, fields)
    assert_equal "ö", hash.get_or_acquire("ä", "me", ttl: LONG).value
    hash.acquire("ä", "tökén", ttl: LONG)
    hash.acquire("\xFF", "\xFF", ttl: LONG)
    assert_equal ["tökén", "\xFF".b], ["ä", "\xFF"].map { |field| hash.holder(field).token }
    assert hash.release("\xFF", "\xFF".b)
    next unless url.start_with?("redis:")

    bytes = hash_on(url, encoding: Encoding::BINARY)
    assert_equal ["ö".b, "tökén".b], [bytes.get("ä"), bytes.holder("ä").token]
  end

  def test_times_on_a_clock
    clock = Millpond::ManualClock.new
    hash = hash_on("memory:", clock: clock)
    hash.set("a", "1", ttl: 1.5)
    hash.set("b", "2", ttl: 60r)
    hash.acquire("c", "me", ttl: 2)
    assert_equal [1.5, 60.0, 2.0], [hash.ttl("a"), hash.ttl("b"), hash.holder("c").remaining]
    clock.advance(1.25)
    assert_equal [0.25, 0.75], [hash.ttl("a"), hash.acquire("c", "you", ttl: 1).remaining]
    assert_equal [0, 0, 0, false, 0.25], hash.reap.to_a
    clock.advance(0.25)
    assert_equal [nil, [1, 1, 1]], [hash.get("a"), hash.stats.to_a]
    clock.advance(0.5)
    assert_raises(Millpond::LeaseLostError) { hash.set_locked("c", "me", "3", ttl: 60) }
    assert_equal [1, 0, 0, true, 0.0], hash.reap(limit: 1).to_a
    assert_equal [0, 1, 0, false, 58.0], hash.reap.to_a
    clock.advance(58)
    assert_equal [1, 0, 0, false, nil], hash.reap.to_a
    assert_equal [0, 0, 0], hash.stats.to_a
  end

  def test_expiries_are_those_of_the_clock
    clock = Millpond::ManualClock.new(1_700_000_000_000)
    hash = hash_on("memory:", clock: clock)
    hash.set("a", "1", ttl: 1)
    assert_equal 1_700_000_001_000_000, hash.fields.fields.first.expires_us
  end

  def test_hashes_have_their_own_fields
    client = connect("memory:")
    client.volatile_hash("x").set("a", "1", ttl: LONG)
    assert_equal ["1", nil], %w[x y].map { |name| client.volatile_hash(name).get("a") }
    error = assert_raises(INVALID) { client.volatile_hash("").get("a") }
    assert_match(/the name is empty/, error.message)
  end

  on_every_backend :hashes_of_a_family_have_their_own_fields do |url|
    client = connect(url)
    family = client.volatile_hashes(name_of_queue, shards: 4)
    assert_equal [name_of_queue, 4, "ann"], [family.name, family.shards, family["ann"].name]
    family["ann"].set("a", "1", ttl: LONG)
    family["bob"].set_many({ "a" => "2", "b" => "3" }, ttl: LONG)
    assert_equal [["1", nil], %w[2 3]], %w[ann bob].map { |base| family[base].get_many(%w[a b]) }
    family["bob"].lock("a", ttl: LONG) do |lock|
      assert_equal [nil, lock.fence], %w[ann bob].map { |base| family[base].holder("a")&.fence }
      lock.set("4", ttl: LONG)
    end
    assert_equal [2, 0, 1], [family["bob"].clear, family["bob"].len, family["ann"].len]
    assert_equal [0, 0], ["ann", name_of_queue].map { |name| client.volatile_hash(name).len }
    assert_equal "1", client.volatile_hashes(name_of_queue, shards: 4)["ann".b].get("a")
  end

  on_every_backend :a_family_is_reaped_as_one do |url|
    family = connect(url).volatile_hashes(name_of_queue)
    assert_equal [16, [0, 0, 0, false, nil]], [family.shards, family.reap.to_a]
    30.times { |number| family[number.to_s].set("a", "1", ttl: LONG) }
    family["7"].set("b", "2", ttl: 0.001)
    wait_until { family["7"].len == 1 }
    assert_equal [1, 1], family["7"].stats.to_a.first(2)
    reaped = family.reap
    assert_equal [1, 0, 0, false], reaped.to_a.first(4)
    assert_includes 0.0..LONG, reaped.next_in
    assert_equal [1, 0], family["7"].stats.to_a.first(2)
    assert_equal 0, family.reap(limit: 1_000).fields
  end

  def test_a_family_on_a_clock
    clock = Millpond::ManualClock.new
    family = connect("memory:", clock: clock).volatile_hashes("carts", shards: 1)
    3.times { |number| family[number.to_s].set("a", "1", ttl: 60) }
    family["3"].acquire("a", "me", ttl: 90)
    clock.advance(60)
    assert_equal [2, 0, 0, true, 0.0], family.reap(limit: 2).to_a
    assert_equal [1, 0, 0, false, 30.0], family.reap.to_a
    clock.advance(30)
    assert_equal [0, 1, 0, false, nil], family.reap.to_a
  end

  def test_limits_of_a_family
    client = connect("memory:")
    refused(/1 to 1024 shards, not 0/) { client.volatile_hashes("x", shards: 0).reap }
    refused(/1 to 1024 shards, not 1025/) { client.volatile_hashes("x", shards: 1_025)["ann"].len }
    family = client.volatile_hashes("x")
    refused(/1 to 1000 fields and locks, not 0/) { family.reap(limit: 0) }
    refused(/is empty/) { family[""].len }
    refused(/65537 bytes/) { family["x" * 65_537].len }
    refused(/is empty/) { client.volatile_hashes("").reap }
  end

  on_every_backend :a_limit_that_is_passed_changes_nothing do |url|
    hash = hash_on(url)
    hash.set("a", "1", ttl: LONG)
    refused(/the token is empty/) { hash.acquire("a", "", ttl: LONG) }
    refused(/the token has 65 bytes/) { hash.renew("a", "x" * 65, ttl: LONG) }
    refused(/the field has 65537 bytes/) { hash.set("x" * 65_537, "1", ttl: LONG) }
    refused(/the value has 16777217 bytes/) { hash.set("a", "x" * 16_777_217, ttl: LONG) }
    refused(/the call names no field/) { hash.set_many({}, ttl: LONG) }
    refused(/the call names no field/) { hash.get_many([]) }
    refused(/the call names no field/) { hash.delete([]) }
    refused(/the time to live is 0/) { hash.set("a", "2", ttl: 0) }
    refused(/the time to live is 0/) { hash.touch("a", ttl: 0) }
    refused(/the time to live is/) { hash.set("a", "2", ttl: Float::INFINITY) }
    refused(/1 to 1000 fields, not 0/) { hash.fields(limit: 0) }
    refused(/1 to 1000 fields and locks, not 1001/) { hash.reap(limit: 1_001) }
    assert_equal ["1", 1], [hash.get("a"), hash.len]
  end

  def refused(message, kind = INVALID, &call)
    assert_match message, assert_raises(kind, &call).message
  end

  def test_arguments
    hash = hash_on("memory:")
    refused(/fields\["a"\] must be a String, not Integer/, TypeError) { hash.set_many({ "a" => 1 }, ttl: LONG) }
    refused(/the key :a of fields must be a String, not Symbol/, TypeError) { hash.set_many({ a: "1" }, ttl: LONG) }
    refused(/fields\[1\] must be \[field, value\], not String/, TypeError) { hash.set_many([%w[a 1], "b"], ttl: LONG) }
    refused(/fields\[1\] must be a String, not nil/, TypeError) { hash.get_many(["a", nil]) }
    refused(/after must be a FieldPosition or a HashField, not String/, TypeError) { hash.fields(after: "a") }
    wrong = Millpond::FieldPosition.new("1", "a")
    refused(/after.expires_us must be an Integer/, TypeError) { hash.fields(after: wrong) }
    refused(/unknown keyword: :count/, ArgumentError) { hash.fields(count: 1) }
    assert_equal 0, hash.len
  end

  def test_a_key_of_another_kind
    server = own_server
    require "redis"
    Redis.new(url: server.url).set("vhash-zset:{x}", "text")
    hash = hash_on(server.url, "x")
    assert_raises(Millpond::WrongTypeError) { hash.get("a") }
    assert_raises(Millpond::WrongTypeError) { hash.set("a", "1", ttl: LONG) }
  end
end
