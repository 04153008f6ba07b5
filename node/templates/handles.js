'use strict'

// The handles of queues, and the methods of the core that they call. What Node adds to them is in the files one folder
// up: where results are made, the classes of those files replace the classes here.

const { begin, unwrap } = require('../calls.js')
const { atOnce } = require('../errors.js')
const { Handle, lostSignal, nativeOf } = require('../handle.js')
const Native = require('../native.js')
const { of, ofBytes } = require('../reader.js')
const { added, count, entries, isTrue, nothing } = require('../results.js')
const check = {
  ...require('../arguments.js'),
  ...require('../event-arguments.js'),
  ...require('../modification.js'),
  ...require('../shuffle-arguments.js'),
  ...require('../task-arguments.js')
}
const kinds = require('./options.js')
const {
  made,
  {{ records | join(',\n  ') }}
} = require('./records.js')

const SIGNAL = { signal: check.abortSignal }

/** How results are read. */
const read = {
{% for name, expression in readers %}
  {{ name[5:] }}: {{ expression }}{{ ',' if not loop.last }}
{% endfor %}
}

{% for class in classes %}
{% for call in class.calls if call.checks %}
const {{ class.name }}_{{ call.js }} = { {{ call.checks | join(', ') }} }
{% endfor %}
{% endfor %}
{% for class in classes %}

class {{ class.name }} extends Handle {
  constructor(native) {
    super(native, Native.{{ class.name }}, '{{ class.made_by }}')
  }
{% for getter in class.getters %}

  get {{ getter.js }}() {
    return nativeOf(this).{{ getter.js }}
  }
{% endfor %}
{% for call in class.calls %}

  {{ 'async ' if call.is_call }}{{ call.js }}({{ call.signature | join(', ') }}) {
  {% if call.taken %}
    const { {{ call.taken | join(', ') }} } = check.options(options, {{ class.name ~ '_' ~ call.js if call.checks else 'SIGNAL' }})
  {% endif %}
  {% for arg in call.args if not arg.is_option %}
    {{ arg.js }} = {{ arg.check }}('{{ arg.js }}', {{ arg.js }}{{ ', ' ~ arg.max if arg.max }})
  {% endfor %}
  {% if call.is_call %}
    const send = (number) => nativeOf(this).{{ call.js }}({{ (['number'] + call.sent) | join(', ') }})
    return unwrap(await begin(signal, {{ call.read[0] }}, send))
  {% elif not call.made %}
    return atOnce(() => nativeOf(this).{{ call.js }}({{ call.sent | join(', ') }}))
  {% else %}
    const native = atOnce(() => nativeOf(this).{{ call.js }}({{ call.sent | join(', ') }}))
    return new made.{{ call.made }}(native{{ ', signal, this' if call.is_loop }})
  {% endif %}
  }
{% endfor %}
{% if class.lease %}

  get signal() {
    return lostSignal('{{ class.lease }}', this)
  }

  async [Symbol.asyncDispose]() {
    await this.release()
  }
{% endif %}
}
made.{{ class.name }} = {{ class.name }}
{% endfor %}

module.exports = { {{ classes | map(attribute='name') | join(', ') }}, SIGNAL, read }
