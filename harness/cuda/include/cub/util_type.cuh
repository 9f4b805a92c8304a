// Types that the collectives of CUB share.
#pragma once

namespace cub {

struct NullType {};

template <class Key, class Value>
struct KeyValuePair {
    using KeyT = Key;
    using ValueT = Value;
    Key key;
    Value value;
    bool operator!=(const KeyValuePair& other) const { return key != other.key || value != other.value; }
    bool operator==(const KeyValuePair& other) const { return !(*this != other); }
};

}  // namespace cub
