/** A request under `/v1`, as far as it decides who responds. */
export type Asked = {
  /** GET and HEAD. */
  isRead: boolean;
  /** What Backscroll stores, what is partly constant, or an operation that it does not have. */
  operation: 'stored' | 'partly constant' | 'other';
  /** As Backscroll knows it: `ended` is revoked or expired, `foreign` is of a kind that only Backscroll has. */
  key: 'active' | 'read-only' | 'unknown' | 'ended' | 'foreign';
};

/** `then stored`: the upstream responds, and what it has changed is stored before the response ends. */
export type Responder = 'backscroll' | 'upstream' | 'upstream, then stored' | 'unauthorized' | 'forbidden';

/**
 * Who responds when Dify owns the data, as the table in docs/run/upstream.md, unless something is missing here or in doubt.
 * `isComplete`: everything was copied once. When Backscroll owns the data, its routes respond, and `upstreamRoutes` passes the
 * other requests on.
 */
export function whoResponds({ isRead, operation, key }: Asked, isComplete: boolean): Responder {
  // A foreign key must not leave this server.
  if (key === 'ended' || key === 'foreign') return 'unauthorized';
  if (key === 'read-only' && !isRead) return 'forbidden';
  // An unknown key may be newer than the last look at the source.
  if (operation === 'other' || key === 'unknown') return 'upstream';
  if (!isRead) return 'upstream, then stored';
  // Served by Backscroll only while the upstream is down.
  if (operation === 'partly constant') return 'upstream';
  return isComplete ? 'backscroll' : 'upstream';
}
