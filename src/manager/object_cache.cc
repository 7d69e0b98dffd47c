#include "manager/object_cache.h"

namespace kollect::manager {

base::json::Value without_status(const base::json::Value& manifest) {
  base::json::Value copy = manifest;
  if (!copy.is_object()) return copy;
  copy.as_object().erase("status");
  if (base::json::Value* metadata = copy.find("metadata");
      metadata != nullptr && metadata->is_object()) {
    metadata->as_object().erase("resourceVersion");
    metadata->as_object().erase("managedFields");
  }
  return copy;
}

}  // namespace kollect::manager
