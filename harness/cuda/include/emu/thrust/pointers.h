// Pointers to device memory through which host code may look, with a copy for each look.
#pragma once

#include <cstddef>
#include <iterator>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>

#include "../../cuda_runtime.h"

namespace thrust {

using std::swap;
using std::system_error;
namespace system {
using std::system_error;
}  // namespace system

template <class T>
class device_ptr;

/// What host code gets of an element on the device.
template <class T>
class device_reference {
    using Value = std::remove_cv_t<T>;

public:
    explicit device_reference(T* raw) : raw_(raw) {}
    device_reference(const device_reference&) = default;
    operator Value() const {
        if (emu::on_device()) return *raw_;
        Value value{};
        cudaMemcpy(&value, raw_, sizeof(Value), cudaMemcpyDeviceToHost);
        return value;
    }
    const device_reference& operator=(const Value& value) const {
        if (emu::on_device()) *raw_ = value;
        else cudaMemcpy(raw_, &value, sizeof(Value), cudaMemcpyHostToDevice);
        return *this;
    }
    const device_reference& operator=(const device_reference& other) const { return *this = static_cast<Value>(other); }
    device_ptr<T> operator&() const { return device_ptr<T>(raw_); }
    const device_reference& operator+=(const Value& by) const { return *this = static_cast<Value>(*this) + by; }
    const device_reference& operator-=(const Value& by) const { return *this = static_cast<Value>(*this) - by; }
    const device_reference& operator*=(const Value& by) const { return *this = static_cast<Value>(*this) * by; }
    const device_reference& operator++() const { return *this += Value(1); }
    const device_reference& operator--() const { return *this -= Value(1); }

private:
    T* raw_;
};

template <class T>
class device_ptr {
public:
    using value_type = std::remove_cv_t<T>;
    using difference_type = std::ptrdiff_t;
    using pointer = device_ptr;
    using reference = device_reference<T>;
    using iterator_category = std::random_access_iterator_tag;

    device_ptr() = default;
    device_ptr(std::nullptr_t) {}
    template <class U>
    explicit device_ptr(U* raw) : raw_(static_cast<T*>(raw)) {}
    template <class U, class = std::enable_if_t<std::is_convertible<U*, T*>::value>>
    device_ptr(const device_ptr<U>& other) : raw_(other.get()) {}

    T* get() const { return raw_; }
    reference operator*() const { return reference(raw_); }
    reference operator[](difference_type i) const { return reference(raw_ + i); }
    T* operator->() const { return raw_; }
    explicit operator bool() const { return raw_ != nullptr; }
    device_ptr& operator+=(difference_type by) { raw_ += by; return *this; }
    device_ptr& operator-=(difference_type by) { raw_ -= by; return *this; }
    device_ptr& operator++() { return *this += 1; }
    device_ptr& operator--() { return *this -= 1; }
    device_ptr operator++(int) { device_ptr before = *this; ++*this; return before; }
    device_ptr operator--(int) { device_ptr before = *this; --*this; return before; }
    device_ptr operator+(difference_type by) const { return device_ptr(raw_ + by); }
    device_ptr operator-(difference_type by) const { return device_ptr(raw_ - by); }
    difference_type operator-(const device_ptr& other) const { return raw_ - other.raw_; }
    bool operator==(const device_ptr& other) const { return raw_ == other.raw_; }
    bool operator!=(const device_ptr& other) const { return raw_ != other.raw_; }
    bool operator<(const device_ptr& other) const { return raw_ < other.raw_; }

private:
    T* raw_ = nullptr;
};

template <class T>
T* raw_pointer_cast(const device_ptr<T>& pointer) { return pointer.get(); }
template <class T>
T* raw_pointer_cast(T* pointer) { return pointer; }
template <class T>
device_ptr<T> device_pointer_cast(T* pointer) { return device_ptr<T>(pointer); }
template <class T>
device_ptr<T> device_pointer_cast(const device_ptr<T>& pointer) { return pointer; }

namespace system::detail {
struct bad_alloc : std::bad_alloc {};
}  // namespace system::detail

template <class T>
device_ptr<T> device_malloc(size_t count) {
    T* raw = nullptr;
    if (count && cudaMalloc(&raw, count * sizeof(T)) != cudaSuccess) throw system::detail::bad_alloc();
    return device_ptr<T>(raw);
}
inline device_ptr<void> device_malloc(size_t bytes) { return device_ptr<void>(device_malloc<char>(bytes).get()); }
template <class T>
void device_free(device_ptr<T> pointer) { cudaFree(pointer.get()); }

}  // namespace thrust
