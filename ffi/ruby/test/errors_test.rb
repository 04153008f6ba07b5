# frozen_string_literal: true

require "redis"
require "socket"
require_relative "helper"

# Every kind of error is a class, with Ruby's own where they fit.
class ErrorsTest < MillpondTest
  def test_every_kind_has_a_class_of_its_own
    kinds = Array.new(Millpond::Native.millpond_error_kind_count) do |index|
      kind = Millpond::Native::ErrorKind.new(Millpond::Native.millpond_error_kind_at(index))
      [kind[:code], kind[:name], %i[never later unknown].fetch(kind[:retry])]
    end
    assert_operator kinds.size, :>=, 21
    classes = kinds.map { |code, _, _| Millpond::ERROR_CLASSES.fetch(code) }
    assert_equal kinds.size, classes.uniq.size
    kinds.zip(classes) do |(code, name, retried), found|
      error = found.new("what happened", "ick.add")
      assert_kind_of Millpond::Error, error
      assert_kind_of StandardError, error
      assert_equal [code, name, retried, "ick.add"], [error.code, error.name, error.retry, error.operation]
      assert_equal "Millpond::#{name.split('_').map(&:capitalize).join}Error", found.name
    end
    public = Millpond.constants.map { |constant| Millpond.const_get(constant) }
                     .select { |found| found.is_a?(Class) && found < Millpond::Error }
    assert_equal classes.to_set, public.to_set
  end

  def test_rubys_own
    {
      Millpond::InvalidArgumentError => ArgumentError, Millpond::InvalidUrlError => ArgumentError,
      Millpond::TimeoutError => Timeout::Error, Millpond::ConnectionFailedError => IOError,
      Millpond::ConnectionLostError => IOError, Millpond::StorageError => IOError
    }.each { |ours, rubys| assert_operator ours, :<, rubys }
  end

  def test_an_error_survives_marshalling
    error = Millpond::LeaseLostError.new("what happened", "ick.add")
    copy = Marshal.load(Marshal.dump(error))
    assert_equal [error.class, error.message, error.operation], [copy.class, copy.message, copy.operation]
    assert_equal "Millpond::LeaseLostError", Millpond::LeaseLostError.new.message
  end

  def test_wrong_type
    Redis.new(url: Servers.shared.url).lpush(name_of_queue, "x")
    ick = ick_on(Servers.shared.url)
    error = assert_raises(Millpond::WrongTypeError) { ick.add([[1, "a"]]) }
    assert_equal [4, "WRONG_TYPE", "ick.add", :never], [error.code, error.name, error.operation, error.retry]
    assert_match(/\Aick.add: .*#{name_of_queue}.* list/, error.message)
    assert_equal Encoding::UTF_8, error.message.encoding
    assert_raises(Millpond::WrongTypeError) { ick.each_batch(1) { flunk } }
  end

  def test_no_server_listens
    port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    error = assert_raises(Millpond::ConnectionFailedError) do
      connect("redis://127.0.0.1:#{port}", retries: 0).ick("x").add([[1, "a"]])
    end
    assert_equal :later, error.retry
    assert_includes error.message, port.to_s
    refute_nil error.cause
  end

  def test_a_timeout
    server = own_server
    ick = connect(server.url, timeout: 2).ick("x")
    ick.add([[1, "a"]])
    server.run("stop")
    error = assert_raises(Timeout::Error) { ick.add([[1, "a"]]) }
    assert_equal :unknown, error.retry
    server.run("cont")
  end

  def test_refused
    admin = Redis.new(url: Servers.shared.url)
    admin.call("ACL", "SETUSER", "reader", "on", ">pw", "+@read", "~*")
    url = Servers.shared.url
    refused = assert_raises(Millpond::AuthenticationFailedError) do
      connect(url, username: "reader", password: "no-pw").ick("x").stats
    end
    refute_includes refused.message, "no-pw"
    assert_raises(Millpond::PermissionDeniedError) do
      connect(url, username: "reader", password: "pw").ick("x").stats
    end
  end

  def test_client_name
    client = connect(Servers.shared.url, client_name: name_of_queue)
    client.ick(name_of_queue).stats
    names = Redis.new(url: Servers.shared.url).client(:list).map { |one| one["name"] }
    assert_includes names, name_of_queue
  end

  def test_a_panic_is_an_error
    output, status = run_ruby("-rmillpond", "-e", <<~PROGRAM)
      Millpond::Native.attach_function :millpond_test_panic, [:pointer], :int
      begin
        Millpond::Call.check { |error| Millpond::Native.millpond_test_panic(error) }
      rescue Millpond::InternalError => error
        puts error.message, Millpond.connect("memory:").ick("x").add(["a"]).new
      end
    PROGRAM
    assert_predicate status, :success?, output
    assert_match(/^Millpond panicked: .*\n1\n\z/, output)
  end
end
