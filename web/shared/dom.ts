/* The library of the pages. */
export * from 'preact';
export * from 'preact/hooks';
