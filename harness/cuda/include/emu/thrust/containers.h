// Vectors in host memory and on the device.
#pragma once

#include <initializer_list>
#include <vector>

#include "orders.h"

namespace thrust {

template <class T>
class device_vector;

template <class T>
class host_vector : public std::vector<T> {
public:
    using std::vector<T>::vector;
    host_vector() = default;
    host_vector(const std::vector<T>& other) : std::vector<T>(other) {}
    host_vector(const device_vector<T>& other) : std::vector<T>(other.size()) { other.fetch(this->data()); }
    host_vector& operator=(const device_vector<T>& other) {
        this->resize(other.size());
        other.fetch(this->data());
        return *this;
    }
};

template <class T>
class device_vector {
public:
    using value_type = T;
    using size_type = size_t;
    using difference_type = std::ptrdiff_t;
    using reference = device_reference<T>;
    using pointer = device_ptr<T>;
    using iterator = device_ptr<T>;
    using const_iterator = device_ptr<const T>;

    device_vector() = default;
    explicit device_vector(size_t count) { resize(count); }
    device_vector(size_t count, const T& value) { resize(count, value); }
    template <class I, class = typename std::iterator_traits<I>::iterator_category>
    device_vector(I first, I last) { assign(first, last); }
    device_vector(std::initializer_list<T> values) { bring(values.begin(), values.size()); }
    device_vector(const std::vector<T>& other) { bring(other.data(), other.size()); }
    device_vector(const device_vector& other) { assign(other.begin(), other.end()); }
    device_vector(device_vector&& other) noexcept { swap(other); }
    device_vector& operator=(const device_vector& other) {
        if (this != &other) assign(other.begin(), other.end());
        return *this;
    }
    device_vector& operator=(device_vector&& other) noexcept {
        swap(other);
        return *this;
    }
    device_vector& operator=(const std::vector<T>& other) {
        bring(other.data(), other.size());
        return *this;
    }
    ~device_vector() { device_free(start_); }

    iterator begin() { return start_; }
    iterator end() { return start_ + static_cast<std::ptrdiff_t>(size_); }
    const_iterator begin() const { return start_; }
    const_iterator end() const { return begin() + static_cast<std::ptrdiff_t>(size_); }
    const_iterator cbegin() const { return begin(); }
    const_iterator cend() const { return end(); }
    size_t size() const { return size_; }
    size_t capacity() const { return room_; }
    bool empty() const { return size_ == 0; }
    pointer data() { return start_; }
    device_ptr<const T> data() const { return start_; }
    reference operator[](size_t i) { return start_[static_cast<std::ptrdiff_t>(i)]; }
    T operator[](size_t i) const { return start_[static_cast<std::ptrdiff_t>(i)]; }
    reference front() { return *start_; }
    reference back() { return (*this)[size_ - 1]; }
    T front() const { return (*this)[0]; }
    T back() const { return (*this)[size_ - 1]; }
    void clear() { size_ = 0; }
    void reserve(size_t count) {
        if (count <= room_) return;
        device_ptr<T> larger = device_malloc<T>(count);
        if (size_) cudaMemcpy(larger.get(), start_.get(), size_ * sizeof(T), cudaMemcpyDeviceToDevice);
        device_free(start_);
        start_ = larger;
        room_ = count;
    }
    void resize(size_t count, const T& value = T()) {
        reserve(count);
        const size_t before = size_;
        size_ = count;
        if (count > before) fill(begin() + static_cast<std::ptrdiff_t>(before), end(), value);
    }
    void push_back(const T& value) {
        if (size_ == room_) reserve(room_ ? 2 * room_ : 8);
        ++size_;
        back() = value;
    }
    void pop_back() { --size_; }
    void swap(device_vector& other) noexcept {
        std::swap(start_, other.start_);
        std::swap(size_, other.size_);
        std::swap(room_, other.room_);
    }
    template <class I, class = typename std::iterator_traits<I>::iterator_category>
    void assign(I first, I last) {
        const size_t count = static_cast<size_t>(std::distance(first, last));
        size_ = 0;
        reserve(count);
        size_ = count;
        copy(first, last, begin());
    }
    void assign(size_t count, const T& value) {
        size_ = 0;
        resize(count, value);
    }
    /// Copy all of it to host memory.
    void fetch(T* into) const {
        if (size_) cudaMemcpy(into, start_.get(), size_ * sizeof(T), cudaMemcpyDeviceToHost);
    }

private:
    void bring(const T* values, size_t count) {
        size_ = 0;
        reserve(count);
        size_ = count;
        if (count) cudaMemcpy(start_.get(), values, count * sizeof(T), cudaMemcpyHostToDevice);
    }

    device_ptr<T> start_;
    size_t size_ = 0, room_ = 0;
};

template <class T>
bool operator==(const device_vector<T>& a, const device_vector<T>& b) {
    return a.size() == b.size() && equal(a.begin(), a.end(), b.begin());
}

}  // namespace thrust
