#include "sinks/sink.h"

namespace kollect::sinks {

base::Error gave_way() {
  return base::cancelled("the comparison gave way to a change", "gave-way");
}

std::vector<std::string> texts_of(const std::vector<KeptPart>& parts) {
  std::vector<std::string> texts;
  for (const KeptPart& part : parts) texts.push_back(part.target + "/" + part.ns);
  return texts;
}

base::Result<ExportReport> Sink::apply(const base::Context& context, const Pass& pass) {
  const inventory::RowSet rows = pass.rows->to_row_set();
  Export whole = pass.head;
  whole.rows = &rows;
  return export_all(context, {whole}, false);
}

void declare_types(const std::vector<api::Attribute>& declared,
                   std::map<std::string, std::string>& types) {
  for (const auto& attribute : declared) {
    const auto [known, added] = types.emplace(attribute.name, attribute.type);
    if (!added && known->second != attribute.type) known->second = "string";
  }
}

}  // namespace kollect::sinks
