/* The functions of Preact that the pages use. */
export type { ComponentChild, ComponentChildren, ComponentType, VNode } from 'preact';
export { Fragment, h, render } from 'preact';
export {
  useCallback,
  useEffect,
  useErrorBoundary,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'preact/hooks';
