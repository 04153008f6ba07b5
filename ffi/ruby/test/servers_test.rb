# frozen_string_literal: true

require_relative "helper"

# Every kind of server works from Ruby: what the URL says reaches the library.
class ServersTest < MillpondTest
  %w[redis tls sentinel cluster].each do |kind|
    define_method(:"test_#{kind}") do
      servers = own_server(kind)
      url = servers.url
      url += "?tls_ca=#{servers.started['ca_file']}" if kind == "tls"
      ick = connect(url).ick("documents")
      assert_equal [1, 0], ick.add([[1, "a.txt"]]).to_a
      assert_equal [["a.txt", 1.0]], ick.reserve(10)
      in_child { assert_equal 1, ick.commit(["a.txt"]) }
    end
  end

  def test_unix_socket
    assert_equal 1, ick_on(Servers.shared.unix_url).add(["a.txt"]).new
  end

  def test_a_certificate_of_an_unknown_authority
    ick = connect(own_server("tls").url).ick("documents")
    error = assert_raises(Millpond::InvalidUrlError) { ick.stats }
    assert_match(/certificate/, error.message)
  end

  def test_names_on_a_cluster
    client = connect(own_server("cluster").url)
    assert_raises(Millpond::CrossSlotError) { client.ick("{}abc").stats }
    error = assert_raises(Millpond::CrossSlotError) { client.shuffle_queue("jobs").len }
    assert_match(/\{tag\}/, error.message)
    assert_raises(Millpond::CrossSlotError) { client.shuffle_queue("{jobs}").delete_tracked("j") }

    queue = client.shuffle_queue("{jobs}", track_keys: :queue)
    queue.write_tracked("t", { "job" => "j", "n" => "10" }, "job")
    queue.write_many(numbered(10))
    assert_equal [*0..10], numbers(queue.consumer("g", "c").messages(max: 3).to_a.flatten).sort
    assert queue.delete_tracked("j")
  end

  # A peer that sends a byte now and then holds no call beyond its timeout, which is so long that no machine holds the
  # call up for as long again.
  def test_a_hostile_peer
    ick = Millpond.connect(own_server("hostile").url, timeout: 10).ick("k")
    took = seconds { assert_raises(Millpond::TimeoutError) { ick.add([[1, "x"]]) } }
    assert_operator took, :<, 19
  end

  def test_a_server_that_restarts
    server = own_server
    ick = connect(server.url).ick("x")
    ick.add([[1, "a"]])
    server.run("kill")
    error = assert_raises(Millpond::Error) { ick.add([[1, "b"]]) }
    assert_includes %i[later unknown], error.retry
    server.run("restart")
    assert_equal 1, ick.add([[1, "c"]]).new
  end
end
