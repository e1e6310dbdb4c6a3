/** The one form: labelled fields, a dialog for changes, and created secrets, which are shown once. */

import { html } from "htm/preact"
import { type ComponentChildren, isValidElement } from "preact"
import { useEffect, useId, useRef, useState } from "preact/hooks"
import { useAction } from "../load.ts"
import { ErrorBox } from "./parts.ts"

export interface Field {
  readonly name: string
  readonly label: string
  readonly type?: "text" | "email" | "date" | "password" | "number"
  readonly value?: string
  readonly hint?: string
  readonly isOptional?: boolean
  /** The options, which make it a choice. */
  readonly options?: ReadonlyArray<readonly [value: string, name: string]>
  /** Suggestions while a person types: values, or values with their names. */
  readonly suggestions?: ReadonlyArray<string | readonly [value: string, name: string]>
  /** The options of which several can be chosen; the value has the chosen ones, separated by commas. */
  readonly many?: ReadonlyArray<readonly [value: string, name: string]>
  /** Whether the text may have several lines. */
  readonly hasLines?: boolean
  /** Whether the value is shown and cannot be changed. */
  readonly isFixed?: boolean
}

export type Values = Readonly<Record<string, string>>

/** The values of a form's fields; several of one name are separated by commas. */
export const valuesOf = (form: HTMLFormElement): Values => {
  const values: Record<string, string> = {}
  for (const [name, value] of new FormData(form)) {
    if (typeof value === "string") values[name] = name in values ? `${values[name]},${value.trim()}` : value.trim()
  }
  return values
}

/** The chosen values of a field with several. */
export const chosenIn = (value: string | undefined): ReadonlyArray<string> => (value ? value.split(",") : [])

/** The one field of a form. */
export const Input = (props: { readonly field: Field; readonly isFilter?: boolean }) =>
  props.field.many === undefined ? html`<${OneValue} ...${props} />` : html`<${Chips} ...${props} />`

/** Options of which several can be chosen. */
const Chips = ({ field: { name, label, many = [], value = "", hint } }: { readonly field: Field }) => {
  const chosen = new Set(chosenIn(value))
  return html`<fieldset class="chips"><legend>${label}</legend>
    ${many.length === 0 && html`<span class="soft">There is nothing to choose from yet.</span>`}
    ${many.map(([each, text]) => html`<label class="chip"><input type="checkbox" name=${name} value=${each} defaultChecked=${chosen.has(each)} />${text}</label>`)}
    ${hint !== undefined && html`<small class="soft hint">${hint}</small>`}
  </fieldset>`
}

const OneValue = ({ field, isFilter = false }: { readonly field: Field; readonly isFilter?: boolean }) => {
  const { name, label, type = "text", hint, isOptional = false, options, suggestions, hasLines, isFixed } = field
  const value = field.value ?? options?.[0]?.[0] ?? ""
  const element = useRef<HTMLInputElement & HTMLSelectElement & HTMLTextAreaElement>(null)
  // The typed text stays; only a value from elsewhere replaces it.
  useEffect(() => {
    if (element.current !== null) element.current.value = value
  }, [value])
  const id = useId()
  const hintId = hint === undefined ? undefined : `${id}-hint`
  const listId = suggestions === undefined ? undefined : `${id}-list`
  return html`<div class="field"><label for=${id}>${label}${isOptional && !isFilter && html` <span class="soft">optional</span>`}</label>
    ${
      hasLines === true
        ? html`<textarea ref=${element} id=${id} name=${name} rows="3" defaultValue=${value} required=${!isOptional} spellcheck=${false} aria-describedby=${hintId}></textarea>`
        : options === undefined
          ? html`<input ref=${element} id=${id} readonly=${isFixed} name=${name} type=${type} defaultValue=${value} required=${!isOptional} autocomplete="off" spellcheck=${false} aria-describedby=${hintId} list=${listId} />`
          : html`<select ref=${element} id=${id} name=${name} aria-describedby=${hintId}>${options.map(([each, text]) => html`<option value=${each} selected=${each === value}>${text}</option>`)}</select>`
    }
    ${suggestions !== undefined && html`<datalist id=${listId}>${suggestions.map((each) => (typeof each === "string" ? html`<option value=${each} />` : html`<option value=${each[0]} label=${each[1]} />`))}</datalist>`}
    ${hint !== undefined && html`<small class="soft" id=${hintId}>${hint}</small>`}
  </div>`
}

/** Filters beside each other, applied when they change or with Enter. */
export const Filters = ({
  fields,
  more = [],
  apply,
}: {
  readonly fields: ReadonlyArray<Field>
  /** Filters that are needed less often, folded away unless one is set. */
  readonly more?: ReadonlyArray<Field>
  readonly apply: (values: Values) => void
}) => {
  const changed = (event: Event) => {
    event.preventDefault()
    const form = event.currentTarget
    if (form instanceof HTMLFormElement) apply(valuesOf(form))
  }
  return html`<form class="fields" role="search" onSubmit=${changed} onChange=${changed}>
    ${filtersOf(fields)}
    ${
      more.length > 0 &&
      html`<details class="more" open=${more.some(({ value = "" }) => value !== "")}><summary>More filters</summary><div class="fields">${filtersOf(more)}</div></details>`
    }
  </form>`
}

const filtersOf = (fields: ReadonlyArray<Field>) =>
  fields.map((field) => html`<${Input} key=${field.name} isFilter=${true} field=${{ ...field, isOptional: true }} />`)

/**
 * A button that opens a dialog; the dialog closes when its action was done.
 * @param props.act the action; the dialog shows its error, or the element that it returns
 */
export const ActionButton = ({
  name,
  title = name,
  explain,
  fields = [],
  confirm = name,
  tone,
  act,
}: {
  readonly name: string
  readonly title?: string
  readonly explain?: ComponentChildren
  readonly fields?: ReadonlyArray<Field>
  readonly confirm?: string
  readonly tone?: "quiet" | "danger"
  readonly act: (values: Values) => Promise<unknown>
}) => {
  const [isOpen, setOpen] = useState(false)
  const [result, setResult] = useState<ComponentChildren>()
  const dialog = useRef<HTMLDialogElement>(null)
  const { run, isRunning, error } = useAction(async (values: Values) => {
    const shown = await act(values)
    if (isValidElement(shown) || Array.isArray(shown)) setResult(shown)
    else close()
  })
  const close = () => {
    setOpen(false)
    setResult(undefined)
  }
  useEffect(() => {
    if (isOpen) dialog.current?.showModal()
  }, [isOpen])
  const submit = (event: Event) => {
    event.preventDefault()
    if (event.currentTarget instanceof HTMLFormElement) run(valuesOf(event.currentTarget))
  }
  return html`
    <button type="button" class=${tone} onClick=${() => setOpen(true)}>${name}</button>
    ${
      isOpen &&
      html`<dialog ref=${dialog} onClose=${close} aria-label=${title}>
        ${
          result === undefined
            ? html`<form onSubmit=${submit}>
                <h2>${title}</h2>
                ${explain !== undefined && html`<p class="soft">${explain}</p>`}
                ${fields.map((field) => html`<${Input} field=${field} />`)}
                <${ErrorBox} error=${error} />
                <div class="row">
                  <button class=${tone === "danger" ? "danger" : ""} disabled=${isRunning}>${isRunning ? "Working…" : confirm}</button>
                  <button type="button" class="quiet" onClick=${close}>Cancel</button>
                </div>
              </form>`
            : html`<div class="part">${result}<div><button type="button" onClick=${close}>Done</button></div></div>`
        }
      </dialog>`
    }
  `
}

/** A secret that is shown once, with lines that are ready to use. */
export const Secret = ({
  title,
  secret,
  children,
}: {
  readonly title: string
  readonly secret: string
  readonly children?: ComponentChildren
}) =>
  html`<h2>${title}</h2>
    <p class="soft">It is shown once. Copy it now.</p>
    <pre class="note secret" tabindex="0">${secret}</pre>
    <div><${CopyButton} text=${secret} /></div>
    ${children}`

export const CopyButton = ({ text, name = "Copy" }: { readonly text: string; readonly name?: string }) => {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2000)
  }
  return html`<button type="button" class="quiet" onClick=${copy}>${isCopied ? "Copied" : name}</button>`
}
