/** The page for browsers that nobody has signed in with: operators use the admin key, people the login page. */
import { html } from "htm/preact"
import type { BrowserSession } from "../protocol/control/activity.ts"
import { addressOf, call } from "./api.ts"
import { Invitations } from "./invitations.ts"
import { useAction } from "./load.ts"
import { ErrorBox } from "./ui/parts.ts"

export const SignIn = ({ session, signedIn }: { readonly session: BrowserSession; readonly signedIn: () => void }) => {
  const { run, isRunning, error } = useAction(async (adminKey: string) => {
    await call("POST", "v1/session/operator", { body: { adminKey } })
    signedIn()
  })
  const submit = (event: Event) => {
    event.preventDefault()
    if (!(event.currentTarget instanceof HTMLFormElement)) return
    const key = new FormData(event.currentTarget).get("key")
    if (typeof key === "string") run(key.trim())
  }
  const isMemberOfNone = session.person !== undefined
  return html`<main class="gate"><div class="card">
    <h1>Weir console</h1>
    ${isMemberOfNone && html`<p class="note">You are logged in as ${session.person?.email}. You are not a member of any organisation yet. Accept an invitation, or ask an owner to invite you.</p>`}
    <${Invitations} open=${session.person?.invitations} answered=${signedIn} />
    <form class="part" onSubmit=${submit}>
      <h2>Operators</h2>
      <label>Admin key
        <input name="key" type="password" autocomplete="current-password" required maxlength="512" />
      </label>
      <${ErrorBox} error=${error} />
      <div><button disabled=${isRunning}>${isRunning ? "Signing in…" : "Sign in"}</button></div>
      <small class="soft">In development, the gateway prints it when it starts. Elsewhere it is the one whose SHA-256 is SVC_ADMIN_KEY_SHA256.</small>
    </form>
    <div class="part">
      <h2>People of an organisation</h2>
      <p class="soft">See your organisation's usage, money, keys and settings.</p>
      <div><a class="button" href=${addressOf("login").href}>Log in</a></div>
    </div>
  </div></main>`
}
