#include "readstore/row_text.h"

#include "base/json/write.h"

namespace kollect::readstore {

base::Result<inventory::RowView> RowText::read(std::string_view payload) {
  payload_ = payload;
  const auto parsed = document_.reparse_borrowed(payload_);
  if (!parsed || !document_.root().is_object()) {
    return base::terminal("a row of the table is no JSON object", "bad-row");
  }
  const base::json::View root = document_.root();
  attributes_.clear();
  const auto attributes = root.find("attributes");
  if (attributes && attributes->is_object()) {
    base::json::append_canonical(attributes_, *attributes);
  } else {
    attributes_ = "{}";
  }
  inventory::RowView row = inventory::identity_of(root);
  row.attributes = attributes_;
  return row;
}

base::Result<std::string> RowText::canonical(std::string_view payload) {
  KL_ASSIGN(const inventory::RowView row, read(payload));
  std::string out;
  inventory::append_row_json(out, row);
  return out;
}

}  // namespace kollect::readstore
