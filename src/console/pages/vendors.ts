/** Vendors: the health of each target, its cooldown, its times, and a test call. */
import { html } from "htm/preact"
import type { Targets } from "../../protocol/control/activity.ts"
import type { TierTimesReply, VendorCheckResponse } from "../../protocol/control/admin.ts"
import { judge } from "../../telemetry/timeouts/judge.ts"
import { storedObservation } from "../../telemetry/timeouts/observed.ts"
import { call, get } from "../api.ts"
import { millis } from "../format.ts"
import { useLoad } from "../load.ts"
import { fromOf } from "../range.ts"
import { linkTo } from "../route.ts"
import { Cooldown, type Target, TargetState } from "../target-state.ts"
import { ActionButton } from "../ui/form.ts"
import { Card, Empty, ErrorBox, Head, Loading } from "../ui/parts.ts"
import { Table } from "../ui/table.ts"
import { VendorTest } from "./catalogue/vendor-test.ts"

const refreshMs = 10_000

export const Page = () => {
  const targets = useLoad("targets", (signal) => get<Targets>("v1/admin/targets", undefined, signal), refreshMs)
  const times = useLoad("times of vendors", (signal) =>
    get<TierTimesReply>("v1/admin/tier-times", { from: fromOf("7d") }, signal),
  )
  const rows = [...(targets.data?.data ?? [])].sort(
    (a, b) => a.vendor.localeCompare(b.vendor) || a.model.localeCompare(b.model),
  )
  const test =
    ({ vendor, model }: Target) =>
    async () => {
      const path = `v1/admin/vendors/${encodeURIComponent(vendor)}/test`
      return html`<${VendorTest} outcome=${await call<VendorCheckResponse>("POST", path, { body: { model } })} />`
    }
  return html`
    <${Head} title="Vendors"><a href=${linkTo(["catalogue"])}>Add or change vendors</a><//>
    <${Card}>
      <${ErrorBox} error=${targets.error ?? times.error} retry=${targets.reload} />
      ${
        targets.data === undefined
          ? targets.error === undefined && html`<${Loading} />`
          : html`<${Table} caption="Vendors" rows=${rows} empty=${html`<${Empty} title="No vendors yet"><a href=${linkTo(["catalogue"])}>Add vendors and models</a> to the catalogue.<//>`} columns=${[
              {
                name: "Vendor",
                show: ({ vendor }: Target) =>
                  html`<a href=${linkTo(["exchanges"], { vendor, range: "7d" })}>${vendor}</a>`,
              },
              { name: "Vendor's model", show: ({ model }: Target) => html`<span class="wrap">${model}</span>` },
              { name: "Models", show: ({ handles }: Target) => html`<span class="wrap">${handles.join(", ")}</span>` },
              { name: "State", show: (target: Target) => html`<${TargetState} target=${target} />` },
              { name: "Cooldown", show: (target: Target) => html`<${Cooldown} target=${target} />` },
              {
                name: "First frame p50 / p99, 7 days",
                align: "right",
                show: (target: Target) => firstFrameOf(times.data?.data ?? [], target),
              },
              {
                name: "Actions",
                show: (target: Target) =>
                  html`<${ActionButton} name="Test" tone="quiet" title="Test ${target.vendor}?" confirm="Call it" explain="One small real call of ${target.model}; the vendor bills it." act=${test(target)} />`,
              },
            ]} />`
      }
    <//>
  `
}

/** The times until the first frame of the models that use a target. */
const firstFrameOf = (times: TierTimesReply["data"], { vendor, handles }: Target): string => {
  const own = times.filter((row) => row.tier === "ttfb" && row.vendor === vendor && handles.includes(row.model))
  const judged = own.map((row) => judge(storedObservation(row))).find(({ p50 }) => p50 !== undefined)
  if (judged === undefined) return "too few calls"
  return `${millis(judged.p50)} / ${judged.p99 === undefined ? "beyond the limit" : millis(judged.p99)}`
}
