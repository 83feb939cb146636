/** A request that failed because the network or the service was away is repeated this often. */
const pauseMillis = 5_000;

/** Calls `again` when the browser is online again, or after a pause, whatever comes first. Returns what cancels it. */
export function whenBack(again: () => void): () => void {
  const call = () => {
    cancel();
    again();
  };
  const timer = setTimeout(call, pauseMillis);
  const cancel = () => {
    clearTimeout(timer);
    removeEventListener('online', call);
  };
  addEventListener('online', call);
  return cancel;
}
