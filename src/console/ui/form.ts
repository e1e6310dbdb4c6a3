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
  /** Suggestions while a person types. */
  readonly suggestions?: ReadonlyArray<string>
}

export type Values = Readonly<Record<string, string>>

export const valuesOf = (form: HTMLFormElement): Values =>
  Object.fromEntries(
    [...new FormData(form)].flatMap(([name, value]) => (typeof value === "string" ? [[name, value.trim()]] : [])),
  )

export const Input = ({ field, isFilter = false }: { readonly field: Field; readonly isFilter?: boolean }) => {
  const { name, label, type = "text", hint, isOptional = false, options, suggestions } = field
  const value = field.value ?? options?.[0]?.[0] ?? ""
  const element = useRef<HTMLInputElement & HTMLSelectElement>(null)
  // The typed text stays; only a value from elsewhere replaces it.
  useEffect(() => {
    if (element.current !== null) element.current.value = value
  }, [value])
  const id = useId()
  const hintId = hint === undefined ? undefined : `${id}-hint`
  const listId = suggestions === undefined ? undefined : `${id}-list`
  return html`<label><span>${label}${isOptional && !isFilter && html` <span class="soft">optional</span>`}</span>
    ${
      options === undefined
        ? html`<input ref=${element} name=${name} type=${type} defaultValue=${value} required=${!isOptional} autocomplete="off" spellcheck=${false} aria-describedby=${hintId} list=${listId} />`
        : html`<select ref=${element} name=${name} aria-describedby=${hintId}>${options.map(([each, text]) => html`<option value=${each} selected=${each === value}>${text}</option>`)}</select>`
    }
    ${suggestions !== undefined && html`<datalist id=${listId}>${suggestions.map((each) => html`<option value=${each} />`)}</datalist>`}
    ${hint !== undefined && html`<small class="soft" id=${hintId}>${hint}</small>`}
  </label>`
}

/** Filters beside each other, applied when they change or with Enter. */
export const Filters = ({
  fields,
  apply,
}: {
  readonly fields: ReadonlyArray<Field>
  readonly apply: (values: Values) => void
}) => {
  const changed = (event: Event) => {
    event.preventDefault()
    const form = event.currentTarget
    if (form instanceof HTMLFormElement) apply(valuesOf(form))
  }
  return html`<form class="fields" role="search" onSubmit=${changed} onChange=${changed}>
    ${fields.map((field) => html`<${Input} key=${field.name} isFilter=${true} field=${{ ...field, isOptional: true }} />`)}
  </form>`
}

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
            : html`<div class="card">${result}<div><button type="button" onClick=${close}>Done</button></div></div>`
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
