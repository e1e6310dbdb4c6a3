/** The viewer's open invitations, each to accept or to decline. */
import { html } from "htm/preact"
import type { Invitation } from "../protocol/control/login.ts"
import { call } from "./api.ts"
import { ActionButton } from "./ui/form.ts"

export const Invitations = ({
  open = [],
  answered,
}: {
  readonly open: ReadonlyArray<Invitation> | undefined
  readonly answered: () => void
}) => {
  const answer = (id: string, verb: "accept" | "decline") => async () => {
    await call("POST", `v1/invitations/${encodeURIComponent(id)}/${verb}`)
    answered()
  }
  return open.map(
    ({ id, name, role }) => html`<div class="note" key=${id}>
      <p class="wrap">${name} invites you as ${role}.</p>
      <div class="row">
        <${ActionButton} name="Accept" title="Become a member of ${name}?" confirm="Accept" act=${answer(id, "accept")} />
        <${ActionButton} name="Decline" title="Decline the invitation of ${name}?" tone="quiet" confirm="Decline" act=${answer(id, "decline")} />
      </div>
    </div>`,
  )
}
