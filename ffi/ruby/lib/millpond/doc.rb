# frozen_string_literal: true

require "millpond/record"

module Millpond
  # A document as the store holds it: found by its namespace and id, sorted by its keys, leased for a
  # time as tasks are, but never consumed. What {TaskStore} returns are copies: they stay as they are.
  #
  # @example
  #   store = Millpond.connect("memory:").tasks("shop")
  #   store.put_doc("accounts", "ann", content: { "balance" => 7 })
  #   account = store.get_doc("accounts", "ann")
  #   [account.key, account.content["balance"], account.version] # => ["ann", 7, 0]
  class Doc
    include Record

    # @api private
    PARTS = %i[namespace id version key secondary_key json at_ms claimant created_ms modified_ms].freeze

    # @return [String] the namespace that it is in
    attr_reader :namespace

    # @return [String] unique in its namespace
    attr_reader :id

    # @return [Integer] from 0; 1 more with each claim, renewal and change
    attr_reader :version

    # @return [String] its primary key; several documents can have the same. Never changes
    attr_reader :key

    # @return [String] its secondary key. Never changes
    attr_reader :secondary_key

    # @return [Integer] until when its claimant holds it, in milliseconds since the Unix epoch
    attr_reader :at_ms

    # @return [String] the claimant that holds it until `at_ms`; empty if there is none
    attr_reader :claimant

    # @return [Integer] when it was inserted
    attr_reader :created_ms

    # @return [Integer] when it was inserted, claimed, renewed or changed last
    attr_reader :modified_ms

    # For tests of programs, and for documents of which a program has kept where they are: stores make
    # their documents themselves.
    #
    # @param namespace [String]
    # @param id [String]
    # @param version [Integer]
    # @param json [String, nil] its content, as a JSON text
    # @param others [Integer, String] what only the store changes, as the attributes say
    # @example
    #   Millpond::Doc.new(namespace: "accounts", id: "ann", json: "7").content # => 7
    def initialize(namespace:, id:, version: 0, key: "", secondary_key: "", json: nil, at_ms: 0, claimant: "",
                   created_ms: 0, modified_ms: 0)
      @namespace = namespace
      @id = id
      @version = version
      @key = key
      @secondary_key = secondary_key
      @json = json
      @at_ms = at_ms
      @claimant = claimant
      @created_ms = created_ms
      @modified_ms = modified_ms
    end

    # Its content, of its JSON text, which is parsed when it is first used.
    #
    # @return [Object, nil] nil if it has none, which is not the same as `null`: see {#json}
    #
    # @example
    #   account = Millpond::Doc.new(namespace: "accounts", id: "ann", json: '{"balance":7}')
    #   account.content["balance"] # => 7
    def content
      parsed
    end

    # The document at its version, for a caller that keeps only this.
    #
    # @return [DocId]
    #
    # @example
    #   Millpond::Doc.new(namespace: "accounts", id: "ann").handle.to_a # => ["accounts", "ann", 0]
    def handle
      DocId.new(@namespace, @id, @version).freeze
    end

    # A change of it, for {Modification#change_doc}. What is not given stays.
    #
    # @param content [Object] a content that JSON has; nil is `null`
    # @param json [String, nil] a JSON text instead of a content; nil leaves it
    # @param at_ms [Integer, nil] until when the claimant that changes it holds it, in milliseconds
    #   since the Unix epoch; a time in the past releases it
    # @param delay [Numeric, nil] how many seconds from now, by the engine's clock; the same
    # @param release [Boolean] whether to release it
    # @return [DocChange]
    # @raise [InvalidArgumentError, TypeError] for invalid values
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   opened = Millpond::Modification.new.insert_doc("accounts", "ann", content: 7)
    #   account, = store.modify(opened).inserted_docs
    #   store.modify(Millpond::Modification.new.change_doc(account.change(content: 5)))
    #   store.fetch_docs("accounts", account.id).map { |now| [now.content, now.version] } # => [[5, 1]]
    def change(content: JsonText::NONE, json: JsonText::NONE, at_ms: nil, delay: nil, release: false)
      raise Convert.invalid("release goes without at_ms and delay") if release && (at_ms || delay)

      DocChange.new([*TaskArguments.doc_id("doc", self), JsonText.of("content", content, json) { nil },
                     *TaskArguments.time(at_ms, release ? 0 : delay)].freeze)
    end
  end

  # A change of a document; made by {Doc#change}.
  class DocChange
    # @api private
    attr_reader :row

    # @api private
    def initialize(row)
      @row = row
      freeze
    end
  end
end
