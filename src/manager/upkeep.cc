#include "manager/upkeep.h"

namespace kollect::manager {

base::Result<> let_go(const base::Context& context, Writer& writer,
                      const base::json::Value& manifest, const Subject& subject,
                      const char* finalizer) {
  if (!writer.may_write(subject)) return {};
  if (has_finalizer(manifest, finalizer)) {
    const auto done = writer.set_finalizer(context, manifest, subject, finalizer, false);
    if (!done && done.error().kind != base::ErrorKind::kNotFound) return done.error();
  }
  writer.forget(subject);
  return {};
}

void tell(const base::Context& context, Writer& writer, const Subject& subject,
          const std::vector<Told>& told) {
  for (const Told& one : told) {
    if (one.reason.empty()) {
      writer.end_topic(subject, one.topic);
    } else {
      writer.event(context, subject, one.topic, one.warning, one.reason, one.message, one.logged);
    }
  }
}

}  // namespace kollect::manager
