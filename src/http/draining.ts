/** Whether this node is on its way out: it then tells load balancers so, and finishes what it has begun. */
import { Context, Layer } from "effect"

export class Draining extends Context.Service<
  Draining,
  { readonly isDraining: () => boolean; readonly begin: () => void }
>()("weir/http/Draining") {
  static readonly layer = Layer.sync(Draining, () => {
    let draining = false
    return Draining.of({
      isDraining: () => draining,
      begin: () => {
        draining = true
      },
    })
  })
}
