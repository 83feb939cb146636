import type { ComponentChildren, TargetedSubmitEvent } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { limits } from '../../../server/src/contract/limits.ts';
import { Button, Field, IconButton } from '../../shared/controls.tsx';
import { useAttempt } from '../hooks/requests.ts';
import { ErrorNote } from './ui.tsx';

type DialogProps = { title: string; close: () => void; mustConfirm?: boolean; children?: ComponentChildren };

/**
 * A modal dialog, open while it is mounted. Escape closes it, unless `mustConfirm` leaves only its own buttons. After it
 * the focus returns to the element that had it before.
 */
export function Dialog({ title, close, mustConfirm = false, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    // It runs after the dialog is gone: by then the user may have pressed something else.
    return () => document.activeElement === document.body && before instanceof HTMLElement && before.focus();
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      onClose={close}
      onCancel={(event) => mustConfirm && event.preventDefault()}
      // A browser may let a second Escape pass although the first was cancelled.
      closedby={mustConfirm ? 'none' : undefined}
    >
      <div class="stack">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
      {/* Behind the content: the first field gets the focus. */}
      {!mustConfirm && <IconButton icon="close" label="Close" class="quiet icon-only leave" onClick={close} />}
    </dialog>
  );
}

type FormProps = {
  action: string;
  look?: string;
  isReady?: boolean;
  run: (values: FormData) => Promise<void>;
  /** The way out. The safe choice has the focus first. */
  cancel?: () => void;
  focusesCancel?: boolean;
  children?: ComponentChildren;
};

/** A form with one action, and the error if it failed. */
export function ActionForm(props: FormProps) {
  const { action, look = 'primary', isReady = true, run, cancel, focusesCancel = false, children } = props;
  const { error, isBusy, attempt } = useAttempt();
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    return attempt(() => run(new FormData(form)).then(() => form.reset()));
  };
  return (
    <form class="stack" onSubmit={submit}>
      {children}
      <ErrorNote error={error} />
      <div class="row">
        <button type="submit" class={look} disabled={isBusy || !isReady}>
          {action}
        </button>
        {cancel && (
          <Button autoFocus={focusesCancel} onClick={cancel}>
            Cancel
          </Button>
        )}
      </div>
    </form>
  );
}

type ActionDialogProps = Omit<FormProps, 'cancel'> & { title: string; close: () => void };

/** A dialog with one action and a way out. It stays open, with the error, if the action fails. */
export const ActionDialog = ({ title, close, ...form }: ActionDialogProps) => (
  <Dialog title={title} close={close}>
    <ActionForm {...form} cancel={close} />
  </Dialog>
);

type RenameProps = { title: string; name: string; rename: (name: string) => Promise<void>; close: () => void };

export function RenameDialog({ title, name, rename, close }: RenameProps) {
  const run = (values: FormData) => rename(nameIn(values)).then(close);
  return (
    <ActionDialog title={title} action="Rename" run={run} close={close}>
      <NameField defaultValue={name} />
    </ActionDialog>
  );
}

type NameProps = {
  label?: string;
  maxLength?: number;
  defaultValue?: string;
  placeholder?: string;
  required?: boolean;
};

/** The field `name` of a form, which may not be blank. */
export const NameField = ({ label = 'Name', required = true, ...props }: NameProps) => (
  <Field
    maxLength={limits.idUnitsMax}
    {...props}
    label={label}
    name="name"
    required={required}
    pattern={required ? '.*\\S.*' : undefined}
    autoComplete="off"
  />
);

export const nameIn = (values: FormData): string => String(values.get('name') ?? '').trim();
