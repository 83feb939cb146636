import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { asError } from '../../domain/errors.ts';

/** A hook that runs before the body is read. An error that `check` throws becomes the response. Synchronous, for speed. */
export function checkFirst(check: (request: FastifyRequest, reply: FastifyReply) => void): onRequestHookHandler {
  return (request, reply, done) => {
    try {
      check(request, reply);
    } catch (error) {
      done(asError(error));
      return;
    }
    done();
  };
}
