#include "api/schema.h"

namespace kollect::api {

const Property* Schema::find(std::string_view name) const {
  for (const Property& property : properties) {
    if (property.name == name) {
      return &property;
    }
  }
  return nullptr;
}

Property& Schema::add(std::string name, Type member_type, std::string text) {
  Schema schema;
  schema.type = member_type;
  return add(std::move(name), std::move(schema), std::move(text));
}

Property& Schema::add(std::string name, Schema schema, std::string text) {
  schema.doc = std::move(text);
  properties.push_back(Property{std::move(name), std::move(schema), false});
  return properties.back();
}

Property& Schema::add_list(std::string name, Schema item, std::string text) {
  Schema list;
  list.type = Type::kArray;
  list.items = std::make_shared<const Schema>(std::move(item));
  return add(std::move(name), std::move(list), std::move(text));
}

Property& Schema::add_strings(std::string name, std::string text) {
  Schema item;
  item.type = Type::kString;
  return add_list(std::move(name), std::move(item), std::move(text));
}

Property& Property::item_pattern(std::string text, std::int64_t most) {
  Schema item = *schema.items;
  item.pattern = std::move(text);
  item.max_length = most;
  schema.items = std::make_shared<const Schema>(std::move(item));
  return *this;
}

std::string_view to_string(Schema::Type type) {
  switch (type) {
    case Schema::Type::kString:
      return "string";
    case Schema::Type::kInteger:
      return "integer";
    case Schema::Type::kBoolean:
      return "boolean";
    case Schema::Type::kArray:
      return "array";
    case Schema::Type::kObject:
    case Schema::Type::kStringMap:
      break;
  }
  return "object";
}

}  // namespace kollect::api
