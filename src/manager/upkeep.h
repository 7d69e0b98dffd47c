// What every controller does to the object that it looks at: finalizer, status, events.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "manager/inventory_conditions.h"
#include "manager/object_cache.h"
#include "manager/status_draft.h"
#include "manager/writer.h"

namespace kollect::manager {

/// The object with the finalizer: itself when it has it or nothing may be written, else as the
/// cache has it after the write; null when it has gone meanwhile. Errors: those of
/// Writer::set_finalizer.
template <class T>
base::Result<typename ObjectCache<T>::Ptr> with_finalizer(
    const base::Context& context, Writer& writer, ObjectCache<T>& cache,
    const typename ObjectCache<T>::Ptr& object, const Subject& subject, const char* finalizer) {
  if (has_finalizer(object->manifest, finalizer) || !writer.may_write(subject)) return object;
  KL_ASSIGN(base::json::Value changed,
            writer.set_finalizer(context, object->manifest, subject, finalizer, true));
  cache.put(std::move(changed));
  return cache.get(subject.key);
}

/// Nothing is left to do for an object that is deleted: its finalizer goes, and what was told of
/// it. One that is gone already is no error.
base::Result<> let_go(const base::Context& context, Writer& writer,
                      const base::json::Value& manifest, const Subject& subject,
                      const char* finalizer);

/// Writes what the draft changes, and takes the answer into the cache. A standby writes nothing.
template <class T>
base::Result<> write_status(const base::Context& context, Writer& writer, ObjectCache<T>& cache,
                            const Subject& subject, StatusDraft& draft) {
  const auto patch = draft.patch();
  if (!patch || !writer.may_write(subject)) return {};
  KL_ASSIGN(base::json::Value changed, writer.patch_status(context, subject, *patch));
  cache.put(std::move(changed));
  return {};
}

/// Adds to what an inventory waits for ("targets, which cannot be listed: ...") when that is so of
/// a kind that decides what is exported.
inline void add_unlisted(const std::optional<base::Error>& error, const char* what,
                         std::vector<std::string>& waiting) {
  if (error) {
    waiting.push_back(std::string(what) + ", which cannot be listed: " + error->message);
  }
}

/// Events of what conditions have to tell.
void tell(const base::Context& context, Writer& writer, const Subject& subject,
          const std::vector<Told>& told);

}  // namespace kollect::manager
