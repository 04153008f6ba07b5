# frozen_string_literal: true

require "millpond/json_text"
require "millpond/record"
require "millpond/task_arguments"

module Millpond
  # What a document holds and how it is changed.
  class Doc
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

      at_ms, delay_ms = TaskArguments.time(at_ms, release ? 0 : delay)
      DocChange.new({ doc: TaskArguments.doc_id("doc", self), content: JsonText.of("content", content, json) { nil },
                      at_ms: at_ms, delay_ms: delay_ms }.freeze)
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
