/** The catalogue: its text with line numbers, forms that add to it, a preview of changes, applying it, its history. */

import { html } from "htm/preact"
import { useState } from "preact/hooks"
import type {
  AppliedBy,
  CatalogueRevision,
  CatalogueRevisions,
  CatalogueText,
} from "../../../protocol/control/activity.ts"
import type { ApplyProgress, ApplyResponse } from "../../../protocol/control/admin.ts"
import { get } from "../../api.ts"
import { applyCatalogue } from "../../apply.ts"
import { count } from "../../format.ts"
import { useAction, useLoad, usePages } from "../../load.ts"
import { Card, Empty, ErrorBox, Head, Loading, Tag } from "../../ui/parts.ts"
import { PagedTable, Table } from "../../ui/table.ts"
import { Ago, Time } from "../../ui/time.ts"
import { save } from "../csv-export.ts"
import { CatalogueForms } from "./catalogue-forms.ts"

export const Page = () => {
  const inForce = useLoad("catalogue", (signal) => get<CatalogueText>("v1/admin/catalogue", undefined, signal))
  const history = usePages("revisions", (cursor, signal) =>
    get<CatalogueRevisions>("v1/admin/catalogue/revisions", { cursor }, signal),
  )
  const [chosen, setChosen] = useState<CatalogueRevision>()
  const [draft, setDraft] = useState<CatalogueRevision>()
  const [done, setDone] = useState<ApplyResponse>()
  const applied = (outcome: ApplyResponse) => {
    setDone(outcome)
    setChosen(undefined)
    setDraft(undefined)
    inForce.reload()
    history.reload()
  }
  const bringBack = () => {
    setDraft(chosen)
    setDone(undefined)
    // The editor is a new one, with the focus at its text.
    setTimeout(() => document.querySelector<HTMLElement>(".editor textarea")?.focus(), 0)
  }
  const compare = useAction(async (revision: string) => {
    setChosen(await get<CatalogueRevision>(`v1/admin/catalogue/revisions/${revision}`))
  })
  return html`
    <${Head} title="Catalogue">${inForce.data !== undefined && html`<span class="soft">Revision ${inForce.data.revision} is in force</span>`}<//>
    <${ErrorBox} error=${inForce.error} retry=${inForce.reload} />
    ${done !== undefined && html`<${Applied} outcome=${done} close=${() => setDone(undefined)} />`}
    ${inForce.data === undefined ? !inForce.error && html`<${Loading} />` : html`<${Editor} key=${`${inForce.data.revision} ${draft?.revision}`} catalogue=${inForce.data} draft=${draft} applied=${applied} />`}
    <${Card} title="History">
      <${ErrorBox} error=${compare.error} />
      ${chosen !== undefined && html`<${Comparison} revision=${chosen} bringBack=${bringBack} />`}
      <${PagedTable} caption="Revisions" pages=${history} empty=${html`<${Empty} title="No catalogue was applied yet">Write one above, or <code>weir init</code>.<//>`} columns=${[
        { name: "Revision", align: "right", show: ({ revision }: Revision) => revision },
        {
          name: "Applied",
          align: "nowrap",
          show: ({ appliedAt }: Revision) =>
            html`<${Time} at=${appliedAt} /> <small class="soft"><${Ago} at=${appliedAt} /></small>`,
        },
        {
          name: "By",
          show: ({ appliedBy }: Revision) => (appliedBy === null ? "–" : appliers[appliedBy]),
        },
        {
          name: "Fingerprint",
          show: ({ fingerprint }: Revision) => html`<code class="wrap">${fingerprint.slice(0, 16)}</code>`,
        },
        {
          name: "Difference",
          show: ({ revision }: Revision) =>
            revision !== inForce.data?.revision &&
            html`<button type="button" class="quiet" aria-label="Compare revision ${revision} with the one in force" disabled=${compare.isRunning} onClick=${() => compare.run(revision)}>Compare</button>`,
        },
      ]} />
    <//>
  `
}

/** The authors of revisions, by their names. */
const appliers: Readonly<Record<AppliedBy, string>> = {
  admin: "an operator",
  file: "the watched file",
  development: "the gateway, for development",
}

type Revision = CatalogueRevisions["data"][number]
type Change = ApplyResponse["changes"][number]
type Dropped = ApplyResponse["dropped"][number]

const tones = { added: "good", changed: "warn", removed: "bad" } as const

const Editor = ({
  catalogue,
  draft,
  applied,
}: {
  readonly catalogue: CatalogueText
  /** The revision whose text it begins with, if not the one in force. */
  readonly draft: CatalogueRevision | undefined
  readonly applied: (outcome: ApplyResponse) => void
}) => {
  const [text, setText] = useState(draft?.text ?? catalogue.text ?? "")
  const [outcome, setOutcome] = useState<ApplyResponse>()
  const [prune, setPrune] = useState(false)
  const [progress, setProgress] = useState<ApplyProgress>()
  const submit = async (dryRun: boolean) => {
    setOutcome(undefined)
    try {
      const reached = await applyCatalogue({ text, dryRun, prune }, setProgress)
      if (dryRun) setOutcome(reached)
      else applied(reached)
    } finally {
      setProgress(undefined)
    }
  }
  const check = useAction(() => submit(true))
  const apply = useAction(() => submit(false))
  const isRunning = check.isRunning || apply.isRunning
  const lines = Array.from({ length: text.split("\n").length }, (_, index) => index + 1).join("\n")
  const { watchedFile } = catalogue
  const change = (changed: string) => {
    setText(changed)
    setOutcome(undefined)
  }
  const changePrune = (changed: boolean) => {
    setPrune(changed)
    setOutcome(undefined)
  }
  return html`
  <${CatalogueForms} text=${text} change=${change} />
  ${watchedFile !== undefined && html`<${Watched} file=${watchedFile} />`}
  <${Card} title="Text" actions=${html`
      <button type="button" class="quiet" disabled=${isRunning} onClick=${() => check.run()}>${check.isRunning ? "Checking…" : "Show what would change"}</button>
      ${
        watchedFile === undefined
          ? html`<button type="button" disabled=${isRunning || outcome === undefined} onClick=${() => apply.run()}>${apply.isRunning ? "Applying…" : "Apply"}</button>`
          : html`<button type="button" onClick=${() => save(new Blob([text], { type: "application/yaml" }), "weir.yaml")}>Save the text</button>`
      }`}>
    ${catalogue.text === undefined && html`<p class="note">The text of this revision is not stored: an older version applied it. Paste the file, and apply it once.</p>`}
    ${draft !== undefined && html`<p class="note">This is the text of revision ${draft.revision}. Show what would change, then apply it.</p>`}
    ${progress !== undefined && html`<${HowFar} progress=${progress} />`}
    <${ErrorBox} error=${check.error ?? apply.error} />
    ${outcome !== undefined && html`<${Preview} outcome=${outcome} prune=${prune} />`}
    <div class="editor"><pre aria-hidden="true">${lines}</pre>
      <textarea aria-label="The catalogue, in YAML" spellcheck=${false} rows=${Math.max(12, lines.split("\n").length)} value=${text} onInput=${({ currentTarget }: { readonly currentTarget: HTMLTextAreaElement }) => change(currentTarget.value)}></textarea>
    </div>
    <p><label class="check"><input type="checkbox" checked=${prune} disabled=${isRunning} onChange=${({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => changePrune(currentTarget.checked)} /> Remove organisations, people, teams, applications, keys and budgets that the text no longer contains</label></p>
    <p class="soft small">${watchedFile === undefined ? "Show what would change first: only then it can be applied. A catalogue with an error changes nothing." : "A catalogue with an error changes nothing."}</p>
  <//>`
}

/** The note that a watched file has the catalogue, so that nothing is applied here. */
const Watched = ({ file: { path, isInForce } }: { readonly file: NonNullable<CatalogueText["watchedFile"]> }) => html`
  <p class="note">This gateway watches <code class="wrap">${path}</code>: it is applied at each start and change, and replaces any other catalogue. Change the text here, save it, and copy it to that file.
    ${!isInForce && html`<strong>The catalogue in force is not what the file has: it lasts until then.</strong>`}</p>`

const steps = {
  reading: "Reading and checking the text…",
  comparing: "Finding what changes…",
  storing: "Storing entries",
  "taking up": "Taking it up…",
} as const

const HowFar = ({ progress: { step, done, total } }: { readonly progress: ApplyProgress }) => html`
  <p role="status">${steps[step]} ${total > 0 && html`<progress value=${done} max=${total} aria-label="Stored entries"></progress> ${count(done)} of ${count(total)}`}</p>`

/** The changes that a text would make. */
const Preview = ({ outcome, prune }: { readonly outcome: ApplyResponse; readonly prune: boolean }) => html`
  <div class="note" role="status">
    <strong>${entries(outcome.changes.length)} would change.</strong>
    <${Changes} caption="Changes" changes=${outcome.changes} />
    ${outcome.dropped.length > 0 && html`<${DroppedEntries} dropped=${outcome.dropped} prune=${prune} />`}
    ${outcome.warnings.map((warning) => html`<p class="warn">${warning}</p>`)}
  </div>`

const entries = (found: number): string => `${count(found)} ${found === 1 ? "entry" : "entries"}`

/** The changes that were made, with new secrets, which are shown once. */
const Applied = ({ outcome, close }: { readonly outcome: ApplyResponse; readonly close: () => void }) => html`
  <div class="note" role="status">
    <div class="head"><strong>Revision ${outcome.revision} is in force on this node, and on the others within two seconds. ${entries(outcome.changes.length)} changed.</strong>
      <button type="button" class="quiet" onClick=${close}>Close</button></div>
    <${Changes} caption="Applied changes" changes=${outcome.changes} />
    ${outcome.warnings.map((warning) => html`<p class="warn">${warning}</p>`)}
    ${outcome.minted.length > 0 && html`<p>New keys. Copy them now, they are shown once:</p>`}
    ${outcome.minted.map(({ keyId, secret }) => html`<pre class="secret" tabindex="0">${keyId} ${secret}</pre>`)}
  </div>`

const Changes = ({ caption, changes }: { readonly caption: string; readonly changes: ReadonlyArray<Change> }) => html`
    <${Table} caption=${caption} rows=${changes} empty=${html`<p>Nothing changes.</p>`} columns=${[
      { name: "Entry", show: ({ entry }: Change) => html`<code class="wrap">${entry}</code>` },
      { name: "Change", show: ({ change }: Change) => html`<${Tag} tone=${tones[change]}>${change}<//>` },
      {
        name: "Fields",
        show: ({ fields = [] }: Change) =>
          fields.map(
            ({ path, before, after }) =>
              html`<div class="wrap">${path !== "" && html`<code>${path}</code> `}${before ?? "nothing"} → ${after ?? "nothing"}</div>`,
          ),
      },
    ]} />`

/** The changes that an earlier revision would make, and its text for the editor. */
const Comparison = ({
  revision: { revision, against, changes, text },
  bringBack,
}: {
  readonly revision: CatalogueRevision
  readonly bringBack: () => void
}) => html`
  <div class="note" role="status">
    <strong>From revision ${against} to revision ${revision}:</strong>
    ${changes === undefined ? html`<p>This version cannot read one of them.</p>` : html`<${Changes} caption=${`Changes from revision ${against} to revision ${revision}`} changes=${changes} />`}
    ${
      text === undefined
        ? html`<p>Its text is not stored any more.</p>`
        : html`<div><button type="button" class="quiet" onClick=${bringBack}>Put its text into the editor</button></div>`
    }
  </div>`

/** Entries that the text no longer contains, with the money of organisations. */
const DroppedEntries = ({
  dropped,
  prune,
}: {
  readonly dropped: ReadonlyArray<Dropped>
  readonly prune: boolean
}) => html`
    <p class="warn">${prune ? "No longer in the text, and removed:" : "No longer in the text. These stay as they are, unless you choose to remove them:"}</p>
    <${Table} caption="No longer in the text" rows=${dropped} columns=${[
      { name: "Entry", show: ({ entry }: Dropped) => html`<code class="wrap">${entry}</code>` },
      {
        name: "Money",
        show: ({ balances = [] }: Dropped) =>
          balances.map(
            ({ currency, available, held }) => html`<div>${available} ${currency} available, ${held} held</div>`,
          ),
      },
    ]} />`
