# frozen_string_literal: true

# The calls of task stores. Everything is text here, so that values need no decoding but what is labelled.
module TaskCalls
  # Makes the call of one request, which begins with tasks_.
  def tasks_result(request)
    request = said(request)
    store = @client.tasks(request["store"], claimant: request["claimant"])
    call = request["call"].delete_prefix("tasks_")
    case call
    when "insert" then task(store.insert(request["queue"], **value(request["value"])))
    when "modify" then modified(store.modify(modification(request)))
    when "claim", "claim_many", "claims", "renew" then held(call, store, request)
    when "claim_docs", "get_doc", "put_doc", "fetch_docs", "list_docs", "namespace_stats"
      documents(call, store, request)
    when "work" then work(store, request)
    when "run" then run(store, request)
    else listed(call, store, request)
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

  # What a modification met, as a response has it.
  def dependency(error)
    lists = %w[inserts changes deletes depends claims].flat_map { |name| [name, "doc_#{name}"] }
    lists.to_h { |name| [name, error.public_send(name).map(&:to_a)] }
  end

  private

  def held(call, store, request)
    lease = { lease: seconds(request["lease_ms"]) }
    case call
    when "claim" then (task = store.claim(request["queues"], **lease)) && task(task)
    when "claim_many" then tasks(store.claim_many(request["queues"], request["max"], **lease))
    when "claims"
      max = { max: request["max"] }.compact
      tasks(store.claims(request["queues"], wait: seconds(request["wait_ms"]), **max, **lease).first || [])
    when "renew"
      renewed = store.renew(ids(request["tasks"]), docs: doc_ids(request["docs"]), **lease)
      { tasks: renewed.tasks.map(&:to_h), docs: renewed.docs.map(&:to_h), at_ms: renewed.at_ms }
    end
  end

  def listed(call, store, request)
    case call
    when "fetch" then tasks(store.fetch(request["ids"]))
    when "list"
      page = store.list(request["queue"], after: position(Millpond::Position, request["after"]),
                                          limit: request["limit"], claimant: request["only_claimant"],
                                          omit_values: request["omit_values"])
      { tasks: tasks(page.tasks), next: page.next&.to_h }
    when "queues" then store.queues(**filter(request)).to_a
    when "are_empty" then store.are_empty?(**filter(request).slice(:exact, :prefixes))
    when "queue_stats" then store.queue_stats(**filter(request)).map(&:to_h)
    when "time" then store.time
    else raise Unsupported, "the call tasks_#{call} is not known"
    end
  end

  def documents(call, store, request)
    case call
    when "claim_docs"
      docs(store.claim_docs(request["namespace"], request["key"], lease: seconds(request["lease_ms"])))
    when "get_doc"
      secondary_key = { secondary_key: request["secondary_key"] }.compact
      docs([store.get_doc(request["namespace"], request["key"], **secondary_key)].compact).first
    when "put_doc"
      entry = request["doc"]
      docs([store.put_doc(entry["namespace"], entry["key"], **doc_insert(entry))]).first
    when "fetch_docs" then docs(store.fetch_docs(request["namespace"], request["ids"]))
    when "list_docs"
      page = store.list_docs(request["namespace"], keys: request["start"]...request["end"],
                                                   after: position(Millpond::DocPosition, request["after"]),
                                                   limit: request["limit"], omit_contents: request["omit_contents"])
      { docs: docs(page.docs), next: page.next&.to_h }
    when "namespace_stats" then store.namespace_stats(**filter(request)).map(&:to_h)
    end
  end

  # Takes jobs, and does with each as the request says.
  def work(store, request)
    seen = []
    left = request["jobs"].dup
    return seen if left.empty?

    worker(store, request).jobs do |job|
      said = left.shift
      one = seen_of(job)
      one[:answer] = attempt do
        meanwhile(job, said, one)
        finish(job, said)
      end
      seen << one
      break if left.empty?
    end
    seen
  end

  # The same by a handler.
  def run(store, request)
    seen = []
    left = request["jobs"].dup
    on_error = ->(_, error) { seen.last[:told] = error.name }
    worker(store, request).run(on_error: on_error) do |job|
      said = left.shift
      raise "no such job" unless said

      seen << (one = seen_of(job))
      one[:told] = nil
      failure = nil
      one[:answer] = attempt do
        meanwhile(job, said, one)
      rescue StandardError => failure
        raise
      end
      raise failure if failure

      outcome(said)
    end
    seen
  end

  def seen_of(job)
    { task: task(job.task), docs: [], is_lost: false }
  end

  # What a job does before it ends.
  def meanwhile(job, said, one)
    wait = seconds(said["claim_wait_ms"])
    (said["claim_docs"] || []).each do |namespace, key|
      one[:docs].concat(docs(job.claim_docs(namespace, key, wait: wait)))
    end
    (said["run"] || []).each { |request| respond({ "claimant" => job.task.claimant }.merge(request)) }
    sleep(said["sleep_ms"] / 1000.0) if said["sleep_ms"]
    one[:is_lost] = job.lost?
    nil
  end

  def finish(job, said)
    err = said["err"]
    case said["then"]
    when "done" then job.done
    when "finish" then modified(job.finish(modification(said["modification"])))
    when "retry" then job.retry(err || "", delay: seconds(said["after_ms"]))
    when "move" then job.move_to(said["queue"], err || "")
    when "release" then job.release(delay: seconds(said["after_ms"]))
    when "leave" then job.leave
    else raise Unsupported, "the end #{said['then']} is not known"
    end
  end

  # The same as a handler says it.
  def outcome(said)
    err = said["err"]
    case said["then"]
    when "done" then nil
    when "finish" then modification(said["modification"])
    when "retry" then raise Millpond::Retry.new(err || "", delay: seconds(said["after_ms"]))
    when "move" then raise Millpond::Move.new(said["queue"], err || "")
    when "release" then raise Millpond::Release.new(delay: seconds(said["after_ms"]))
    when "fail" then raise err
    else raise Unsupported, "the end #{said['then']} is not known"
    end
  end

  def worker(store, request)
    backoff, backoff_max = request["backoff_ms"]
    counts = { max_attempts: request["max_attempts"], max_claims: request["max_claims"] }.compact
    store.worker(request["queues"], wait: seconds(request["wait_ms"]), lease: seconds(request["lease_ms"]),
                                    backoff: seconds(backoff), backoff_max: seconds(backoff_max),
                                    error_queue: request["error_queue"], **counts)
  end

  def modification(request)
    made = Millpond::Modification.new
    (request["inserts"] || []).each { |entry| made.insert(entry["queue"], **insert(entry)) }
    (request["changes"] || []).each { |entry| made.change(change(entry)) }
    ids(request["deletes"]).each { |id| made.delete(id) }
    ids(request["depends"]).each { |id| made.depend(id) }
    (request["doc_inserts"] || []).each do |entry|
      made.insert_doc(entry["namespace"], entry["key"], **doc_insert(entry))
    end
    (request["doc_puts"] || []).each { |entry| made.put_doc(entry["namespace"], entry["key"], **doc_insert(entry)) }
    (request["doc_changes"] || []).each { |entry| made.change_doc(doc_change(entry)) }
    doc_ids(request["doc_deletes"]).each { |id| made.delete_doc(id) }
    doc_ids(request["doc_depends"]).each { |id| made.depend_doc(id) }
    made
  end

  def insert(entry)
    others = { id: entry["id"], priority: entry["priority"], ttl: seconds(entry["ttl_ms"]),
               skip_colliding: entry["skip_colliding"] }
    task_settings(entry).merge(others).compact
  end

  def change(entry)
    parts = entry["task"].slice("id", "version", "queue", "attempt", "err", "value").compact
    parts["json"] = parts.delete("value")
    set = entry["set"] || {}
    changes = { queue: set["queue"] }.merge(task_settings(set)).compact
    changes[:json] = nil if set["no_value"]
    changed = Millpond::Task.new(**parts.transform_keys(&:to_sym)).change(**changes)
    changed = changed.retry(entry["retry"]) if entry["retry"]
    changed = changed.retry_or_quarantine(*entry["retry_or_quarantine"]) if entry["retry_or_quarantine"]
    entry["quarantine"] ? changed.quarantine(*entry["quarantine"]) : changed
  end

  # The settings of a task.
  def task_settings(entry)
    { at_ms: entry["at_ms"], delay: seconds(entry["after_ms"]), attempt: entry["attempt"], err: entry["err"],
      json: entry["value"] }
  end

  def doc_insert(entry)
    { id: entry["id"], secondary_key: entry["secondary_key"], json: entry["content"],
      skip_colliding: entry["skip_colliding"] }.compact
  end

  def doc_change(entry)
    doc = entry["doc"].slice("namespace", "id", "version").transform_keys(&:to_sym)
    set = entry["set"] || {}
    changes = { json: set["content"], at_ms: set["at_ms"], delay: seconds(set["after_ms"]), release: set["release"] }
    Millpond::Doc.new(**doc).change(**changes.compact)
  end

  def ids(handles)
    (handles || []).map { |handle| Millpond::TaskId.new(handle["id"], handle["version"]) }
  end

  def doc_ids(handles)
    (handles || []).map { |handle| Millpond::DocId.new(*handle.values_at("namespace", "id", "version")) }
  end

  def position(kind, found)
    found && kind.new(*kind.members.map { |part| found[part.to_s] })
  end

  def filter(request)
    { exact: request["exact"], prefixes: request["prefixes"], limit: request["limit"] }.compact
  end

  def value(text)
    text.nil? ? {} : { json: text }
  end

  # Seconds, exactly; what is no number is a wrong argument.
  def seconds(milliseconds)
    milliseconds.is_a?(Integer) ? milliseconds / 1000r : milliseconds
  end

  # A request as Ruby has it: what is labelled is a wrong argument.
  def said(value)
    case value
    when Array then value.map { |item| said(item) }
    when Hash
      label, text = value.first
      return decoded(value) if value.size == 1 && %w[float int string].include?(label) && text.is_a?(String)

      value.transform_values { |item| said(item) }
    else value
    end
  end

  # A task as a response has it.
  def task(task)
    parts = task.to_h
    parts[:value] = parts.delete(:json)
    parts
  end

  def tasks(tasks)
    tasks.map { |one| task(one) }
  end

  def docs(docs)
    docs.map do |doc|
      parts = doc.to_h
      parts[:content] = parts.delete(:json)
      parts
    end
  end

  def modified(modified)
    { inserted: tasks(modified.inserted), changed: tasks(modified.changed),
      inserted_docs: docs(modified.inserted_docs), changed_docs: docs(modified.changed_docs) }
  end
end
