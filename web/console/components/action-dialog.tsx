import type { ComponentChildren, TargetedSubmitEvent } from 'preact';
import { limits } from '../../../server/src/contract/limits.ts';
import { Button, Field } from '../../shared/controls.tsx';
import { useAttempt } from '../hooks/requests.ts';
import { Dialog, ErrorNote } from './ui.tsx';

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

type DialogProps = Omit<FormProps, 'cancel'> & { title: string; close: () => void };

/** A dialog with one action and a way out. It stays open, with the error, if the action fails. */
export const ActionDialog = ({ title, close, ...form }: DialogProps) => (
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
