# frozen_string_literal: true

require "millpond/json_text"
require "millpond/record"
require "millpond/task_arguments"

module Millpond
  class Doc
    # Its content, parsed from its JSON text on first use.
    #
    # @return [Object, nil] nil if it has none, which is not the same as `null`: see {#json}
    #
    # @example
    #   account = Millpond::Doc.new(namespace: "accounts", id: "ann", json: '{"balance":7}')
    #   account.content["balance"] # => 7
    def content
      parsed
    end

    # What a modification needs to delete this document or to depend on it.
    #
    # @return [DocId]
    #
    # @example
    #   Millpond::Doc.new(namespace: "accounts", id: "ann").handle.to_a # => ["accounts", "ann", 0]
    def handle
      DocId.new(@namespace, @id, @version).freeze
    end

    # A change of the document, for {Modification#change_doc}. Fields that are not given stay as they are.
    #
    # @param content [Object] the new content, which is any JSON value
    # @param json [String, nil] a JSON text in place of a content, which is kept byte for byte; nil leaves the content
    #   unchanged
    # @param at_ms [Integer, Time, nil] until when the claimant that makes the change holds it, in milliseconds since
    #   the Unix epoch. A time in the past releases it
    # @param delay [Numeric, nil] how long from now the claimant that changes it holds it, by the engine's clock, in
    #   seconds
    # @param release [Boolean] releases it
    # @return [DocChange]
    # @raise [InvalidArgumentError] for invalid values
    # @raise [TypeError] for arguments of other types
    #
    # @example
    #   store = Millpond.connect("memory:").tasks("shop")
    #   opened = Millpond::Modification.new.insert_doc("accounts", "ann", content: 7)
    #   account, = store.modify(opened).inserted_docs
    #   store.modify(Millpond::Modification.new.change_doc(account.change(content: 5)))
    #   store.fetch_docs("accounts", account.id).map { |now| [now.content, now.version] } # => [[5, 1]]
    def change(content: JsonText::NONE, json: JsonText::NONE, at_ms: nil, delay: nil, release: false)
      raise Convert.invalid("release goes without at_ms and delay") if release && (at_ms || delay)

      content = JsonText.of("content", content, json) { nil }
      times = Convert.fields(Native::DocChange, at_ms: at_ms, delay: release ? 0 : delay)
      DocChange.new({ doc: TaskArguments.id("doc", self, DocId, Doc), content: content, **times }.freeze)
    end
  end

  # What becomes of a document; made by {Doc#change}.
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
