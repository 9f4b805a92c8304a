// Loads and stores with cache hints: plain accesses here, at the author's line.
#pragma once

#include <type_traits>

#include "../vector_types.h"

#define EMU_HINTED_LOAD(name) \
    template <class T>        \
    EMU_INLINE T name(const T* address) { return *address; }
#define EMU_HINTED_STORE(name) \
    template <class T>         \
    EMU_INLINE void name(T* address, std::common_type_t<T> value) { *address = value; }

EMU_HINTED_LOAD(__ldg)
EMU_HINTED_LOAD(__ldcg)
EMU_HINTED_LOAD(__ldca)
EMU_HINTED_LOAD(__ldcs)
EMU_HINTED_LOAD(__ldlu)
EMU_HINTED_LOAD(__ldcv)
EMU_HINTED_STORE(__stwb)
EMU_HINTED_STORE(__stcg)
EMU_HINTED_STORE(__stcs)
EMU_HINTED_STORE(__stwt)
#undef EMU_HINTED_LOAD
#undef EMU_HINTED_STORE

