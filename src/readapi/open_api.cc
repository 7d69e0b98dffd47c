#include "readapi/open_api.h"

#include <stdexcept>

#include "base/yaml/read.h"
#include "readapi/open_api_source.h"

namespace kollect::readapi {

std::string_view open_api_text() {
  return kOpenApiSource;
}

base::json::Value open_api() {
  auto document = base::yaml::read_one(kOpenApiSource);
  if (!document) throw std::logic_error("open_api.yaml: " + document.error().message);
  return *std::move(document);
}

}  // namespace kollect::readapi
