import { useState } from '../../shared/dom.ts';
import type { ApiError } from '../state/api.ts';

/** State of an action that the user starts: whether it runs, and why it failed. */
export function useAttempt() {
  const [error, setError] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const attempt = async (work: () => Promise<void>) => {
    setBusy(true);
    setError(undefined);
    await work().catch((error: ApiError) => setError(error));
    setBusy(false);
  };
  return { error, isBusy, attempt };
}
